"""The one place that talks to a Kubernetes API server: raw JSON in and out, nothing modelled."""
