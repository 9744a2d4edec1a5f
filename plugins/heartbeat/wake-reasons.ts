/** What the reason of a wake says about it. Pure. Spec: http/sessions-routing.md §7.2. */

/** Lowest first. */
const CLASSES = [/^retry$/, /^interval$/, /^(?!retry$|interval$)/, /^(?:manual$|exec-event|hook:)/];
const ABOUT_SOMETHING = /^(?:exec-event|cron:|wake$|hook:)/;

/** Of two that come together, the reason of the higher class counts; of two equal ones the later. */
export function strongerReason(former: string, later: string): string {
  return classOf(later) >= classOf(former) ? later : former;
}

function classOf(reason: string): number {
  return CLASSES.findLastIndex((pattern) => pattern.test(reason));
}

/** Something happened: whether HEARTBEAT.md has anything to say does not matter. */
export function isAboutSomething(reason: string): boolean {
  return ABOUT_SOMETHING.test(reason);
}
