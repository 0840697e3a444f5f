"""What ``gpuspec validate`` finds in manifests: rules with a page each, and findings in a text."""
