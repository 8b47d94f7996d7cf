"""How many threads the BLAS libraries have that fits call."""

from threadpoolctl import threadpool_info


def blas_threads_now() -> list[int]:
    """Return the threads of each library, in a fixed order.

    FAISS brings a BLAS of its own, which no fit calls; it is loaded or not, depending
    on what else was tested in the same process.
    """
    return [
        pool["num_threads"]
        for pool in threadpool_info()
        if pool["user_api"] == "blas" and "faiss" not in pool["filepath"]
    ]
