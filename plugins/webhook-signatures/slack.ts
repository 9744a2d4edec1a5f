/** Slack: `X-Slack-Signature: v0=<hex>` over `v0:<X-Slack-Request-Timestamp>:<body>`. */
import type { HmacScheme } from "./hmac-verifier.ts";
import { textSecretProblem } from "./secret-text.ts";
import { readHeader, readHexDigest } from "./signature-header.ts";
import { readTime } from "./signed-time.ts";

const SIGNATURE = "x-slack-signature";
const TIME = "x-slack-request-timestamp";
const PREFIX = "v0=";

export const slack: HmacScheme = {
  id: "slack",
  summary: `Slack requests (${SIGNATURE})`,
  secretProblem: textSecretProblem,
  read(request) {
    const time = readHeader(request, TIME);
    if (typeof time === "string") return time;
    const header = readHeader(request, SIGNATURE);
    if (typeof header === "string") return header;
    const signedAt = readTime(time.text);
    if (signedAt === undefined) return `header ${TIME} is not a time in whole seconds`;
    const { text } = header;
    const signature = text.startsWith(PREFIX) ? readHexDigest(text.slice(PREFIX.length)) : undefined;
    if (!signature) return `header ${SIGNATURE} is not "${PREFIX}" and 64 lower-case hex digits`;
    return { content: [`v0:${time.text}:`, request.rawBody], signatures: [signature], signedAt };
  },
};
