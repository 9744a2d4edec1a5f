/** Stripe: `Stripe-Signature: t=<seconds>,v1=<hex>[,v1=<hex>...]` over `<t>.<body>`. */
import { type HmacScheme, MAX_SIGNATURES } from "./hmac-verifier.ts";
import { textSecretProblem } from "./secret-text.ts";
import { readHeader, readHexDigest } from "./signature-header.ts";
import { readTime } from "./signed-time.ts";

const HEADER = "stripe-signature";

export const stripe: HmacScheme = {
  id: "stripe",
  summary: `Stripe events (${HEADER})`,
  secretProblem: textSecretProblem,
  read(request) {
    const header = readHeader(request, HEADER);
    if (typeof header === "string") return header;
    if (/\s/.test(header.text)) return `header ${HEADER} contains blanks; was it sent twice?`;
    const elements = header.text.split(",");
    const [time, ...furtherTimes] = valuesOf("t", elements);
    if (time === undefined) return `header ${HEADER} has no time (t=)`;
    if (furtherTimes.length > 0) return `header ${HEADER} has more than one time (t=)`;
    const signedAt = readTime(time);
    if (signedAt === undefined) return `the time (t=) in header ${HEADER} is not in whole seconds`;
    // Other schemes are skipped: v0 is a fake one for tests, and accepting it would be a downgrade.
    const texts = valuesOf("v1", elements);
    if (texts.length > MAX_SIGNATURES) return `header ${HEADER} has more than ${MAX_SIGNATURES} signatures (v1=)`;
    const signatures = texts.flatMap((text) => readHexDigest(text) ?? []);
    if (signatures.length === 0) return `header ${HEADER} has no signature (v1=) of 64 lower-case hex digits`;
    return { content: [`${time}.`, request.rawBody], signatures, signedAt };
  },
};

function valuesOf(key: string, elements: readonly string[]): string[] {
  return elements.flatMap((element) => (element.startsWith(`${key}=`) ? [element.slice(key.length + 1)] : []));
}
