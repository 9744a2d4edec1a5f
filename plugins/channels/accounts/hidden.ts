/** Removes the secrets of an account from texts about it. Pure. */
import { messageOf } from "@svc/sdk/errors";

const SECRET_KEY = /token|secret|password|passphrase|credential|api_?key|private_?key/i;
const HIDDEN = "(hidden)";
/** Shorter values are not replaced: that would hide half a sentence. */
const LEAST_CHARS = 3;

/** Values of the settings whose keys sound like secrets, longest first. */
export function secretsOf(settings: unknown): readonly string[] {
  const found = new Set<string>();
  const visit = (value: unknown, isSecret: boolean): void => {
    if (typeof value === "string") {
      if (isSecret && value.length >= LEAST_CHARS) found.add(value);
    } else if (typeof value === "object" && value !== null) {
      for (const [key, child] of Object.entries(value)) visit(child, isSecret || SECRET_KEY.test(key));
    }
  };
  visit(settings, false);
  return [...found].toSorted((left, right) => right.length - left.length);
}

export function hide(text: string, secrets: readonly string[]): string {
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), text);
}

/** `hide` for plain data, e.g. the result of a probe. */
export function hideIn(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === "string") return hide(value, secrets);
  if (Array.isArray(value)) return value.map((item) => hideIn(item, secrets));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [hide(key, secrets), hideIn(item, secrets)]));
}

/** Choice: maximum number of characters of an error text. */
const MAX_TOLD_CHARS = 500;

/** Error text with secrets removed. */
export function toldError(error: unknown, secrets: readonly string[]): string {
  const text = messageOf(error);
  return hide(text, secrets).slice(0, MAX_TOLD_CHARS);
}
