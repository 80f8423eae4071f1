"""Run the program as `python -m mmscore`."""

from mmscore.cli import main

if __name__ == "__main__":
    main()
