/** Sorts the plugins for the trials, and finds the culprit by bisection. Pure except for the trials. */
import type { PlannedCode } from "@svc/cli";

/** A plugin that can be tried. */
export type Suspect = Omit<PlannedCode, "problem">;

/**
 * Sorts providers before the plugins that need them, otherwise in the given order: each prefix of the list contains all
 * plugins that its members need.
 */
export function inOrder(suspects: readonly Suspect[]): Suspect[] {
  const order: Suspect[] = [];
  const visit = (one: Suspect, trail: readonly Suspect[]) => {
    if (order.includes(one) || trail.includes(one)) return; // two plugins that need each other run in no gateway
    for (const other of suspects)
      if (other.provides.some((service) => one.requires.includes(service))) visit(other, [...trail, one]);
    order.push(one);
  };
  for (const one of suspects) visit(one, []);
  return order;
}

/** The culprit and all plugins that cannot run without it. */
export function withDependents(culprit: Suspect, suspects: readonly Suspect[]): ReadonlySet<Suspect> {
  const found = new Set([culprit]);
  for (const one of found)
    for (const other of suspects)
      if (other.requires.some((service) => one.provides.includes(service))) found.add(other);
  return found;
}

/**
 * Index of the first plugin that makes the check fail, found by bisection.
 * @param isWell checks the first `count` plugins; must be true for 0 and false for all
 */
export async function firstBad(total: number, isWell: (count: number) => Promise<boolean>): Promise<number> {
  let well = 0;
  let bad = total;
  while (bad - well > 1) {
    const middle = Math.floor((well + bad) / 2);
    if (await isWell(middle)) well = middle;
    else bad = middle;
  }
  return bad - 1;
}
