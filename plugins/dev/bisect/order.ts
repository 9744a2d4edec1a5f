/** In which order plugins are tried, and which one it is. Pure but for the trials. */
import type { PlannedCode } from "@svc/cli";

/** A plugin that can be tried. */
export type Suspect = Omit<PlannedCode, "problem">;

/** Providers before those that need them, else as they came: each beginning of the list has all that it needs. */
export function inOrder(suspects: readonly Suspect[]): Suspect[] {
  const order: Suspect[] = [];
  const visit = (one: Suspect, trail: readonly Suspect[]) => {
    if (order.includes(one) || trail.includes(one)) return; // two that need each other run in no gateway
    for (const other of suspects)
      if (other.provides.some((service) => one.requires.includes(service))) visit(other, [...trail, one]);
    order.push(one);
  };
  for (const one of suspects) visit(one, []);
  return order;
}

/** What cannot run without `culprit`, the culprit included. */
export function withDependents(culprit: Suspect, suspects: readonly Suspect[]): ReadonlySet<Suspect> {
  const found = new Set([culprit]);
  for (const one of found)
    for (const other of suspects)
      if (other.requires.some((service) => one.provides.includes(service))) found.add(other);
  return found;
}

/**
 * The first that spoils it: with all before it all is well, with it not. By halves.
 * @param isWell tries the first `count` of them; true for 0, false for all
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
