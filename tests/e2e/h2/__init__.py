"""HTTP/2 for the cases, frame by frame: it sends what it is told to, whether RFC 9113 allows that or not."""
