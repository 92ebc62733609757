"""Every setting there is: what it means, where its value comes from, how it is changed while we run."""
