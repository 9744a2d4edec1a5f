/** Restores secrets where a reader of the redacted configuration sends the sentinel back. Spec: methods-config.md §1, §3. Pure. */
import { invalidRequest } from "@svc/sdk";
import { idOf, isIdList, isObject, own } from "./plain-data.ts";
import { type Hints, isSensitive, redact, REDACTED } from "./redact.ts";

interface Place {
  /** Path for hints; items as `[]`. */
  readonly path: readonly string[];
  /** Path for messages; items as `[3]`. */
  readonly shown: string;
  /** Whether a parent is hidden as a whole. */
  readonly hidden: boolean;
}

/**
 * A copy of `value` with each sentinel replaced by the current value, if readers see the sentinel there. `currents`: sources,
 * the preferred one first. List items are matched by `id` if every current item has an `id`, else by index. Choice: the spec
 * matches by index, which would assign one entry's secret to another after entries with ids were moved.
 * @throws GatewayError `INVALID_REQUEST` naming the key whose sentinel has no stored value
 */
export function restore(value: unknown, currents: readonly unknown[], hints: Hints): unknown {
  const sources = currents.map((stored) => ({ stored, told: redact(stored, hints) }));
  return walk(value, sources, hints, { path: [], shown: "", hidden: false });
}

/** A stored value and its redacted form. */
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

/** Index in `list` of the item's counterpart. */
function counterpart(list: unknown, item: unknown, index: number): number {
  if (!Array.isArray(list)) return index;
  const id = idOf(item);
  const byIndex = !isObject(item) || id === REDACTED || idOf(list[index]) === id;
  if (byIndex || !isIdList(list)) return index;
  return list.findIndex((candidate) => candidate.id === id);
}
