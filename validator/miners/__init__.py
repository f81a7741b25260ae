"""The client for miners, and the directory of their declarations (SPEC 5, 13).

Touches miners, through `outgoing/`, and the store; `scripted.py` neither. Called by rounds, the doctor, `miner check`.
"""
