/** The environment a program gets: this process's without the gateway's secrets, and what the caller adds. Pure. */

/** @param secrets credentials of the gateway: variables that hold one are left out, whatever their name */
export function childEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  added: Readonly<Record<string, string>>,
  secrets: readonly string[],
): Record<string, string> {
  const kept = Object.entries(own).filter(
    (entry): entry is [string, string] =>
      entry[1] !== undefined && !/^SVC_/i.test(entry[0]) && !secrets.some((secret) => holds(entry[1] ?? "", secret)),
  );
  return { ...Object.fromEntries(kept), ...added };
}

/** Characters from which on a secret is looked for inside of values: a short one stands in many by chance. */
const MIN_SEARCHED = 8;

function holds(value: string, secret: string): boolean {
  return value === secret || (secret.length >= MIN_SEARCHED && value.includes(secret));
}
