/** Output of `svc secrets`. Pure. */
import type { ResultOf } from "@svc/sdk";
import { table } from "@svc/sdk/cli";
import type { secrets } from "@svc/sdk/secrets";
import { printable } from "./printable.ts";

type Listed = ResultOf<typeof secrets.list>;
type Reloaded = ResultOf<typeof secrets.reload>;

const HEAD = ["PATH", "SOURCE", "PROVIDER", "STATE"];

/** A table with one line per reference. */
export function listLines({ secrets: all }: Listed): string[] {
  if (all.length === 0) {
    return [
      'The configuration has no references. To add one, replace a secret by e.g. { source: "env", id: "ACME_API_KEY" }',
    ];
  }
  return table([HEAD, ...all.map(cells)]);
}

function cells({ path, source, provider, state, reason }: Listed["secrets"][number]): string[] {
  const known = reason === undefined ? state : `${state}: ${reason}`;
  return [path, source, provider, known].map(printable);
}

export function reloadLines({ warningCount }: Reloaded): string[] {
  const unused = warningCount === 1 ? "1 reference is" : `${warningCount} references are`;
  return [
    "All references were reloaded.",
    ...(warningCount === 0 ? [] : [`${unused} not read by any running plugin; see: svc secrets list`]),
  ];
}
