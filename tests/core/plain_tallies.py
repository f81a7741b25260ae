"""Version 2.0.0 as SPEC 17 says it, sentence by sentence, on the documents of the vectors: slow, with exact fractions.

It shares with the program the keys of findings and the grammar of evidence references alone.
"""

import hashlib
import hmac
from fractions import Fraction
from typing import Any

import msgspec

from sssa.protocol.skill_types import SkillType
from sssa.protocol.sssa import Finding, parse_evidence_ref
from sssa.scoring import finding_key, key_parts, version

Json = dict[str, Any]
TYPES = ("rag_knowledge", "declarative", "executable_python", "executable_script", "mcp_server", "agent_composition")
BASE = {name: version("1.0.0").rules.types[SkillType(name)].base_weight for name in TYPES}


def exact(x: float) -> Fraction:
    return Fraction(x)


def plain_turns(case: Json) -> Json:
    previous: Json = case["previous"]
    now, stayed, turns, presence = {}, [], {}, {}
    for hotkey in case["candidates"]:
        last = previous.get(hotkey)
        now[hotkey] = last["turn"] + last["dispatched"] if last else 0
        if last and last["stayed"]:
            stayed.append(hotkey)
    middle = 0
    if stayed:
        values = sorted(now[hotkey] for hotkey in stayed)
        middle = values[(len(values) - 1) // 2]
    for one in case["candidates"]:
        turns[one] = now[one] if one in stayed else max(now[one], middle)
        asked = answered = 0
        if last := previous.get(one):
            asked = last["asked"] + last["dispatched"] - last["uncounted"]
            answered = last["answered"] + last["entered"]
            if asked > 50:
                asked, answered = asked // 2, answered // 2
            if last["absent"] <= 10:
                asked += turns[one] - now[one]
        presence[one] = {"asked": asked, "answered": answered}
    return {"turns": turns, "presence": presence}


def plain_selection(case: Json) -> Json:
    def drawn(label: str, hotkey: str) -> bytes:
        text = f"{label}|{case['round_id']}|{case['task_id']}|{hotkey}"
        return hmac.digest(bytes.fromhex(case["seed"]), text.encode(), hashlib.sha256)

    excluded, eligible = {}, []
    for one in case["candidates"]:
        reason = None
        if one["collusion_flags"] >= 3:
            reason = "collusion_flags"
        elif one["reputation"] < 0.2:
            reason = "low_reputation"
        elif one["in_flight"] >= one["max_concurrent"]:
            reason = "in_flight"
        elif one["dispatches"] >= 5 and one["failures"] * 2 > one["dispatches"]:
            reason = "failure_rate"
        if reason:
            excluded[one["hotkey"]] = reason
        else:
            eligible.append(one)
    order = sorted(eligible, key=lambda one: (one["turn"], one["total"], drawn("rank", one["hotkey"])))
    group: list[str] = []
    for one in order:
        if len(group) < 5 and one["hotkey"] not in group:
            group.append(one["hotkey"])
    group.sort(key=lambda hotkey: drawn("auditor", hotkey))
    auditors = 2 if len(group) == 5 else 1 if len(group) == 4 else 0
    modes = ["skip", "quality_only", "quality_only", "degraded_3", "degraded_4", "full"]
    return {
        "mode": modes[min(5, len(eligible))],
        "primaries": group[auditors:],
        "auditors": group[:auditors],
        "promoted": [],
        "demoted": [],
        "excluded": excluded,
    }


def plain_tally(case: Json) -> Json:
    truth: Json = case["truth"] or {}
    valid = [one for one in case["members"] if one["sssa"]]
    weights = {}
    for one in valid:
        y = (1.5 + one["record"]["score"]) / (3 + one["record"]["answers"])
        curated = one.get("curated", {"score": 0, "answers": 0})
        b = min(y, (2 * y + curated["score"]) / (2 + curated["answers"]))
        equal = [o for o in valid if _voice(o["sssa"]) == _voice(one["sssa"])]
        weights[one["hotkey"]] = max(0.02, b * b) / len(equal)
    return {"members": [_plain_member(case, truth, valid, weights, one) for one in case["members"]]}


def _voice(sssa: Json) -> Any:
    return sssa["analysis"]["verdict"], _plain_things(sssa, "findings")


def _plain_member(  # noqa: C901, PLR0915 - every sentence in its order
    case: Json, truth: Json, valid: list[Json], weights: Json, one: Json
) -> Json:
    others = [o for o in valid if o["hotkey"] != one["hotkey"]]
    if len(others) < 2:
        others = []
    weight_of = {o["hotkey"]: exact(weights[o["hotkey"]]) for o in others}
    whole = sum(weight_of.values())

    def most(part: str) -> set[Any] | None:
        if not others:
            return None
        votes: dict[Any, Fraction] = {}
        for o in others:
            for thing in _plain_things(o["sssa"], part):
                votes[thing] = votes.get(thing, Fraction(0)) + weight_of[o["hotkey"]]
        return {thing for thing, votes_for in votes.items() if 2 * votes_for > whole}

    verdict = truth.get("verdict")
    if verdict is None and others:
        said = {
            v: sum(weight_of[o["hotkey"]] for o in others if o["sssa"]["analysis"]["verdict"] == v) for v in VERDICTS
        }
        verdict = next(v for v in ("BLOCK", "REVIEW", "ALLOW") if said[v] == max(said.values()))
    risk = truth.get("reference_risk")
    risk = truth.get("transitive_risk") if risk is None else risk
    if risk is None and others:
        risks = [weight_of[o["hotkey"]] * exact(o["sssa"]["analysis"]["risk_score"]) for o in others]
        risk = float(sum(risks) / whole)
    rules = truth.get("policy_rules")
    wanted_rules = most("rules") if rules is None else {(r["resource"], r["action"], r["pattern"]) for r in rules}
    faults = truth.get("findings")
    keys = most("findings") if faults is None else None
    known = len(faults) if faults is not None else None if keys is None else len(keys)

    sssa, found, answer_score, event = one["sssa"], None, None, None
    hits = said_findings = 0
    if sssa and faults is not None:
        found, false_alarms = _plain_matches(faults, sssa)
        hits = sum(found)
        said_findings = hits + false_alarms
    elif sssa and keys is not None:
        mine = _plain_things(sssa, "findings")
        hits, said_findings = len(mine & keys), len(mine)
    curated_score = None
    if faults is not None:
        score = 0.0
        if sssa:
            d = 2 * hits / (said_findings + len(faults)) if said_findings + len(faults) else 1
            score = 0.75 * d + 0.25 * (sssa["analysis"]["verdict"] == truth["verdict"])
        if case["planted"]:
            answer_score = score
        elif case.get("first"):
            curated_score = score
        if sssa and answer_score is not None:
            event = "truth_high" if answer_score >= 0.5 else "truth_low" if answer_score < 0.25 else None
    ok = bool(sssa) and not one["early"] and one["epsilon"] >= 0.1

    def share(part: str, wanted: set[Any] | None) -> list[int] | None:
        if wanted is None:
            return None
        mine = _plain_things(sssa, part) if ok else None
        return [0, len(wanted)] if mine is None else [len(mine & wanted), len(mine | wanted)]

    tally = None
    if verdict is not None or known is not None:
        miner_risk = sssa["analysis"]["risk_score"] if ok else 0.0
        tally = {
            "ok": ok,
            "hits": None if known is None else hits if ok else 0,
            "said": None if known is None else said_findings if ok else 0,
            "known": known,
            "verdict": sssa["analysis"]["verdict"] if ok else None,
            "reference": verdict,
            "risk": None if risk is None else max(0, 1 - abs(miner_risk - risk)) if ok else 0,
            "risk_null": None if risk is None else 1 - abs(risk - 0.5),
            "capabilities": share("capabilities", most("capabilities")),
            "dependencies": share("dependencies", most("dependencies")),
            "rules": share("rules", wanted_rules),
            "epsilon": one["epsilon"] if ok else None,
        }
    return {
        "hotkey": one["hotkey"],
        "weight": weights.get(one["hotkey"]),
        "tally": tally,
        "answer_score": answer_score,
        "curated_score": curated_score,
        "event": event,
    }


VERDICTS = ("ALLOW", "REVIEW", "BLOCK")


def _plain_things(sssa: Json, part: str) -> set[Any]:
    analysis = sssa["analysis"]
    if part == "findings":
        return {_key(one) for one in analysis["findings"] if one["category"] != "canary_match"}
    if part == "capabilities":
        return set(analysis["capabilities"])
    if part == "dependencies":
        return {(_pep503(one["package"]), one["version"]) for one in analysis["dependencies"]}
    return {(one["resource"], one["action"], one["pattern"]) for one in sssa["policy"]["rules"]}


def _key(finding: Json) -> str:
    return finding_key(msgspec.convert(finding, Finding))


def _pep503(name: str) -> str:
    for mark in "_.":
        name = name.replace(mark, "-")
    return "-".join(part for i, part in enumerate(name.lower().split("-")) if part or i == 0)


def _plain_matches(faults: list[Json], sssa: Json) -> tuple[list[bool], int]:
    """Return a flag for each fault that is found, and the number of distinct keys that name none."""
    findings = [one for one in sssa["analysis"]["findings"] if one["category"] != "canary_match"]
    naming = {
        (distance, i, j)
        for i, fault in enumerate(faults)
        for j, finding in enumerate(findings)
        if (distance := _distance(fault, finding)) is not None
    }
    found, used = [False] * len(faults), set()
    for _, i, j in sorted(naming):
        if not found[i] and j not in used:
            found[i] = True
            used.add(j)
    false = {_key(one) for j, one in enumerate(findings) if not any(j == named for _, _, named in naming)}
    return found, len(false)


def _distance(fault: Json, finding: Json) -> int | None:
    if fault["category"] != finding["category"]:
        return None
    if fault["cve_ids"]:
        ours, theirs = ({cve.upper() for cve in one["cve_ids"]} for one in (fault, finding))
        few, most = len(theirs) <= 4, 2 * len(ours & theirs) > len(theirs)
        same = _target(fault) == _target(finding)
        return 0 if ours & theirs and (few or most or same) else None
    at, named = (parse_evidence_ref(one["evidence_ref"]) for one in (fault, finding))
    if at.path != named.path:
        return None
    if at.first is None or at.last is None:
        return 0
    if named.first is None or named.last is None or len(range(named.first, named.last + 1)) > 20:
        return None
    away = min(abs(a - b) for a in range(at.first, at.last + 1) for b in range(named.first, named.last + 1))
    return away if away <= 3 else None


def _target(finding: Json) -> str:
    fields = {
        "category": finding["category"],
        "severity": "low",
        "evidence_ref": "a",
        "cve_ids": (),
        "id": "",
        "description": "",
    }
    return key_parts(Finding(**fields, target_pattern=finding["target_pattern"]))[4]


def plain_weights(case: Json) -> Json:
    hotkeys = list(dict.fromkeys([*case["windows"], *case["before"]]))
    unpaid: Json = {}
    paid, earlier, workflows = {}, {}, {}
    for hotkey in hotkeys:
        of = case["windows"].get(hotkey, {})
        standing = case["standing"].get(hotkey, {"collusion_flags": 0, "types": {}})
        why = {name: _plain_reason(standing, name) for name in (*TYPES, "workflow")}
        for name, entries in of.items():
            if entries and why[name]:
                unpaid.setdefault(hotkey, {})[name] = why[name]
        paid[hotkey] = {name: of[name][-100:] for name in TYPES if of.get(name) and not why[name]}
        workflows[hotkey] = of.get("workflow", [])[-100:] if not why["workflow"] else []
        old = case["before"].get(hotkey, {})
        earlier[hotkey] = sum((_old(old.get(name, [])) for name in TYPES if not why[name]), Fraction(0))
    pay = _PlainPay(case, paid)
    sum_1, sum_2 = sum(earlier.values()), sum(exact(s) for s in pay.scores.values())
    share = min(1, case["rounds"] / 30)
    assessed = {}
    for hotkey in hotkeys:
        a_1 = earlier[hotkey] / sum_1 if sum_1 else Fraction(0)
        a_2 = exact(pay.scores[hotkey]) / sum_2 if sum_2 else Fraction(0)
        by = 0.0 if not sum_2 else 1.0 if not sum_1 else share
        assessed[hotkey] = float((1 - exact(by)) * a_1 + exact(by) * a_2)
    planned = {hotkey: float(_old(workflows[hotkey])) for hotkey in hotkeys}
    full = sum(len(workflows[one]) >= 20 and planned[one] > 0 for one in hotkeys)
    of_workflows = 0.25 * min(1, full / 7)
    sum_w = sum(planned.values())
    mixed = {}
    for one in hotkeys:
        w = planned[one] / sum_w if sum_w else 0
        both = (1 - of_workflows) * assessed[one] + of_workflows * w
        mixed[one] = assessed[one] if not sum_w else both if sum_1 or sum_2 else w
    weights = _plain_cap({one: score for one, score in mixed.items() if score > 0})
    return {
        "parts": pay.parts,
        "factors": pay.factors,
        "scores": {one: {"assessment": assessed[one], "workflow": planned[one]} for one in hotkeys},
        "unpaid": unpaid,
        "weights": weights,
        "unallocated": 1 - sum(weights.values()),
    }


def _plain_reason(standing: Json, name: str) -> str | None:
    if standing.get("collusion_flags", 0) >= 3:
        return "collusion_flags"
    of = standing.get("types", {}).get(name)
    if not of or not of["declared"]:
        return "undeclared"
    if of["reputation"] < 0.2:
        return "low_reputation"
    if of["dispatches"] >= 5 and 2 * of["failures"] > of["dispatches"]:
        return "failure_rate"
    if not of["proven"]:
        return "unproven"
    return "execution" if of.get("execution_fails", 0) >= 3 else None


def _old(entries: list[float]) -> Fraction:
    last = entries[-100:]
    return sum(map(exact, last), Fraction(0)) / len(last) * Fraction(min(20, len(last)), 20) if last else Fraction(0)


def _plain_cap(scores: dict[str, float]) -> dict[str, float]:
    capped: set[str] = set()
    while True:
        rest = sum(score for one, score in scores.items() if one not in capped)
        weights = {o: 0.15 if o in capped else (1 - 0.15 * len(capped)) * s / rest for o, s in scores.items()}
        over = {one for one, weight in weights.items() if weight > 0.15}
        if not over:
            return weights
        capped |= over


class _PlainPay:
    """D-41."""

    def __init__(self, case: Json, paid: Json) -> None:
        self.paid = paid
        self.parts: Json = {}
        self.scores: dict[str, float] = {}
        self.factors: dict[str, float] = {}
        for hotkey, windows in paid.items():
            n = sum(map(len, windows.values()))
            total = 0.0
            for name in windows:
                part = self._part(hotkey, name)
                self.parts.setdefault(hotkey, {})[name] = part
                boosted = 1.5 if name in {"mcp_server", "agent_composition"} and case["epoch"] <= 30 else 1.0
                took = case["presence"].get(hotkey, {}).get(name, {"asked": 0, "answered": 0})
                part["presence"] = min(1, (took["answered"] + 5) / (took["asked"] + 5))
                total += BASE[name] * boosted * part["quality"] * part["quality"] * part["epsilon"] * part["presence"]
            nothing = {"score": 0, "answers": 0}
            record, curated = case["records"].get(hotkey, nothing), case["curated"].get(hotkey, nothing)
            y = (1.5 + record["score"]) / (3 + record["answers"])
            c = (5 * y + curated["score"]) / (5 + curated["answers"])
            self.factors[hotkey] = (c / y) * (c / y) if c < 0.6 * y else 1.0
            self.scores[hotkey] = total * (n / (n + 20)) * self.factors[hotkey]

    def _all(self, hotkey: str) -> list[Json]:
        return [entry for entries in self.paid[hotkey].values() for entry in entries]

    def _sum(self, entries: list[Json], component: str) -> tuple[Fraction, int]:
        if component == "findings":
            known = [one for one in entries if one["hits"] is not None]
            return Fraction(sum(2 * one["hits"] for one in known)), sum(one["said"] + one["known"] for one in known)
        if component == "verdict":
            known = [one for one in entries if one["reference"] is not None]
            return Fraction(sum(one["verdict"] == one["reference"] for one in known)), len(known)
        values: list[Any] = [one[component] for one in entries if one[component] is not None]
        if component == "risk":
            return sum(map(exact, values), Fraction(0)), len(values)
        return Fraction(sum(got for got, _ in values)), sum(offered for _, offered in values)

    def _ratio(self, hotkey: str, name: str, component: str) -> float:
        got, offered = self._sum(self._all(hotkey), component)
        sums = [self._sum(self._all(one), component) for one in self.paid]
        everything = sum(d for _, d in sums)
        pool = float(sum((n for n, _ in sums), Fraction(0)) / everything) if everything else 0.0
        u = max(0.3, offered / len(self._all(hotkey)))
        own = (float(got) + 4 * u * pool) / (offered + 4 * u)
        got, offered = self._sum(self.paid[hotkey][name], component)
        return (float(got) + 10 * u * own) / (offered + 10 * u)

    def _part(self, hotkey: str, name: str) -> Json:
        r = {one: self._ratio(hotkey, name, one) for one in COMPONENTS}
        pool = [entry for of in self.paid.values() for entry in of.get(name, ())]
        true, said = _shares(pool, "reference"), _shares(self._all(hotkey), "verdict")
        by_chance = sum(said[v] * true[v] for v in VERDICTS)
        sure = sum(true[v] * true[v] for v in VERDICTS)
        nulls = [entry["risk_null"] for entry in pool if entry["risk_null"] is not None]
        z = float(sum(map(exact, nulls)) / len(nulls)) if nulls else 0.0
        part = {
            **r,
            "findings": min(1, max(0, r["findings"])),
            "verdict": min(1, max(0, (r["verdict"] - by_chance) / max(0.2, 1 - sure))),
            "risk": min(1, max(0, (r["risk"] - z) / max(0.05, 1 - z))),
        }
        weights = (0.5, 0.25, 0.1, 0.05, 0.05, 0.05)
        epsilons = [entry["epsilon"] for entry in self.paid[hotkey][name] if entry["epsilon"] is not None]
        part["quality"] = sum(weight * part[one] for weight, one in zip(weights, COMPONENTS, strict=True))
        part["epsilon"] = float(sum(map(exact, epsilons)) / len(epsilons)) if epsilons else 1.0
        return part


COMPONENTS = ("findings", "verdict", "risk", "capabilities", "dependencies", "rules")


def _shares(entries: list[Json], field: str) -> dict[str, float]:
    known = [entry[field] for entry in entries if entry[field] is not None]
    return {verdict: known.count(verdict) / len(known) if known else 0.0 for verdict in VERDICTS}
