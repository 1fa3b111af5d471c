"""The paper's laboratory: every system and every experiment of its Section 4, run again and judged.

``python -m laboratory --help`` says how to run it, README.md where to find things. It uses the
package and the helpers of the benchmarks; neither of them uses it.
"""
