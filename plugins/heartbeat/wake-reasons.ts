/** Classification of wake reasons. Pure. Spec: http/sessions-routing.md §7.2. */

/** Lowest priority first. */
const CLASSES = [/^retry$/, /^interval$/, /^(?!retry$|interval$)/, /^(?:manual$|exec-event|hook:)/];
const ABOUT_SOMETHING = /^(?:exec-event|cron:|wake$|hook:)/;

/** Of two reasons, the one of the higher class; of the same class, the later one. */
export function strongerReason(former: string, later: string): string {
  return classOf(later) >= classOf(former) ? later : former;
}

function classOf(reason: string): number {
  return CLASSES.findLastIndex((pattern) => pattern.test(reason));
}

/** Whether the wake has a cause, so that it runs even if HEARTBEAT.md is empty. */
export function isAboutSomething(reason: string): boolean {
  return ABOUT_SOMETHING.test(reason);
}
