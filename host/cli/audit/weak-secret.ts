/** Whether a secret can be guessed. Pure. */

/** Words that guessers try first. */
const WORDS =
  /password|passwort|passwd|changeme|change|letmein|welcome|secret|admin|token|gateway|default|example|test|qwerty|hook|svc|the|my/g;
/** Characters that must be left without those words, and different ones a secret must have. Choice. */
const LEAST_REST = 8;
const LEAST_VARIETY = 8;

/** Why the secret is weak, never what it is; `undefined`: it is not. @param least characters */
export function weaknessOf(secret: string, least: number): string | undefined {
  if (secret.length < least) return `has ${secret.length} characters, and ${least} are the least`;
  const variety = new Set(secret).size;
  if (variety < LEAST_VARIETY) return `has only ${variety} different characters`;
  if (/^(.{1,12}?)\1+$/s.test(secret)) return "repeats one short text";
  const codes = Array.from(secret, (char) => char.codePointAt(0) ?? 0);
  const steps = codes.slice(1).filter((code, at) => code - (codes[at] ?? 0) !== 1);
  if (steps.length < LEAST_REST) return "counts up through the alphabet";
  const rest = secret
    .toLowerCase()
    .replace(WORDS, "")
    .replace(/[^a-z0-9]/g, "");
  return new Set(rest).size < LEAST_REST ? "is made of well-known words" : undefined;
}
