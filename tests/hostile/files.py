"""Files that misbehave while they are loaded: source, exit status, what the reason says."""

RIGHT = "def f(x, rng):\n    return x[0] + rng.laplace(scale=2.0)\n"

FILES = {
    "exits": ("import sys\nsys.exit(0)\n" + RIGHT, 2, "sys.exit(0)"),
    "leaves": ("import os\nos._exit(0)\n" + RIGHT, 2, "status 0"),
    "leaves_as_seven": ("import os\nos._exit(7)\n" + RIGHT, 2, "status 7"),
    "odd": ("class Odd(BaseException): pass\nraise Odd\n" + RIGHT, 2, "Odd"),
    "hangs": ("import time\ntime.sleep(1000)\n" + RIGHT, 2, "--time-limit"),
    "loops": ("while True: pass\n" + RIGHT, 2, "--time-limit"),
    "recurses": ("def g(): g()\ng()\n" + RIGHT, 2, "RecursionError"),
    "memory": ("x = []\nwhile True: x.append(bytearray(1 << 26))\n" + RIGHT, 2, "memory"),
    "prints": ("print('{}')\n" + RIGHT, 0, ""),
    "chdir": ("import os\nos.chdir('/')\n" + RIGHT, 0, ""),
    "handlers": (
        "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" + RIGHT,
        0,
        "",
    ),
    "forks": ("import os\nos.fork()\n" + RIGHT, 2, "fork"),
    "replaces": ("import math\nmath.log = math.exp\n" + RIGHT, 2, "replaced math.log"),
    "replaces_late": (
        "from dpest.exact import engine as e\ne.exact_loss = lambda *a, **k: None\n" + RIGHT,
        2,
        "replaced",
    ),
    "interrupts": ("raise KeyboardInterrupt\n" + RIGHT, 2, "KeyboardInterrupt"),
    "nul": ("\x00" + RIGHT, 2, ""),
    "not_text": ("\xff\xfe" + RIGHT, 2, ""),
    "asks": ("input()\n" + RIGHT, 2, "EOFError"),
    "removes_modules": ("import sys\nsys.modules.clear()\n" + RIGHT, 2, ""),
    "removes_dpest": (
        "import sys\nfor m in list(sys.modules):\n    if 'dpest' in m: del sys.modules[m]\n"
        + RIGHT,
        2,
        "",
    ),
}
