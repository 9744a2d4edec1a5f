/** Detects secrets that can be guessed. Pure. */
import type { AuthSettings } from "./settings.ts";

/** Minimum requirements of a secret. */
interface Least {
  readonly characters: number;
  readonly "different characters": number;
}

/**
 * For a gateway that other machines can reach. Choice: the limiter slows guesses, and these minimums make them hopeless; 16
 * hexadecimal characters hold 64 bits.
 */
const LEAST: Readonly<Record<"token" | "password", Least>> = {
  token: { characters: 16, "different characters": 5 },
  password: { characters: 12, "different characters": 5 },
};
/** Minimum characters for the audit. Choice: more for a token, since nobody types one; the audit only advises and refuses no start. */
export const AUDIT_LEAST = { token: 24, password: 12 } as const;
const AUDIT_VARIETY = 8;

/** Words that attackers try first. */
const WORDS =
  /password|passwort|passwd|changeme|change|letmein|welcome|secret|admin|token|gateway|default|example|test|qwerty|hook|svc|the|my/g;
/** Different characters that must remain without those words, and steps that do not count up. Choice. */
const AUDIT_REST = 8;

/** The requirement that a secret does not meet; `undefined`: it meets all. */
export function shortfall(secret: string, least: Least = LEAST.token) {
  const counts: Least = { characters: secret.length, "different characters": new Set(secret).size };
  const what = (["characters", "different characters"] as const).find((name) => counts[name] < least[name]);
  return what && { what, has: counts[what], least: least[what] };
}

/** Why the gateway's own secret is easy to guess, without revealing it; `undefined`: it is not, or the mode has no secret. */
export function weakness(
  auth: Pick<AuthSettings, "mode"> & { readonly [name in "token" | "password"]?: string | undefined },
): string | undefined {
  const { mode } = auth;
  if (mode !== "token" && mode !== "password") return undefined;
  const short = shortfall(auth[mode]?.trim() ?? "", LEAST[mode]);
  return short && `gateway.auth.${mode} has fewer than ${short.least} ${short.what}`;
}

/** The audit's finding about a weak secret, without revealing it; `undefined`: it is not weak. @param characters the minimum */
export function weaknessOf(secret: string, characters: number): string | undefined {
  const short = shortfall(secret, { characters, "different characters": AUDIT_VARIETY });
  if (short?.what === "characters") return `has ${short.has} characters, and the minimum is ${short.least}`;
  if (short) return `has only ${short.has} different characters`;
  if (/^(.{1,12}?)\1+$/s.test(secret)) return "repeats one short text";
  const codes = Array.from(secret, (char) => char.codePointAt(0) ?? 0);
  const steps = codes.slice(1).filter((code, at) => code - (codes[at] ?? 0) !== 1);
  if (steps.length < AUDIT_REST) return "counts up through the alphabet";
  const rest = secret
    .toLowerCase()
    .replace(WORDS, "")
    .replace(/[^a-z0-9]/g, "");
  return new Set(rest).size < AUDIT_REST ? "consists of well-known words" : undefined;
}
