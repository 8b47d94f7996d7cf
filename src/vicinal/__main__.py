"""`python -m vicinal` is the command `vicinal`."""

from vicinal.cli import main

if __name__ == "__main__":
    main()
