"""`python -m vicinal` is the command `vicinal`."""

from vicinal.app.cli import main

if __name__ == "__main__":
    main()
