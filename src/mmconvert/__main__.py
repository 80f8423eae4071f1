"""Run the program as `python -m mmconvert`."""

from mmconvert.cli import main

if __name__ == "__main__":
    main()
