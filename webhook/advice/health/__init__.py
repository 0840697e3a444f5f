"""What ``gpuspec health`` says: verdicts of a cluster, of one node or Pod, and of a history."""
