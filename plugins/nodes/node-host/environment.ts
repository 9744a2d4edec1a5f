/** Builds the environment of a program: that of this process without the gateway's secrets, plus the caller's variables. Pure. */

/** @param secrets credentials of the gateway: variables whose value contains one are left out, whatever their name */
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

/** Minimum length of a secret that is searched inside values; a shorter one occurs in many values by chance. */
const MIN_SEARCHED = 8;

function holds(value: string, secret: string): boolean {
  return value === secret || (secret.length >= MIN_SEARCHED && value.includes(secret));
}
