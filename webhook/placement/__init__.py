"""How the rows that a Pod may use become fields of the Pod, a module an output."""
