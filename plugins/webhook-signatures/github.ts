/** GitHub: `X-Hub-Signature-256: sha256=<hex>` over the body. Neither a time nor an id is signed. */
import type { HmacScheme } from "./hmac-verifier.ts";
import { textSecretProblem } from "./secret-text.ts";
import { readHeader, readHexDigest } from "./signature-header.ts";

const HEADER = "x-hub-signature-256";
const PREFIX = "sha256=";

export const github: HmacScheme = {
  id: "github",
  summary: `GitHub webhooks (${HEADER})`,
  secretProblem: textSecretProblem,
  read(request) {
    const header = readHeader(request, HEADER);
    if (typeof header === "string") return header;
    const { text } = header;
    const signature = text.startsWith(PREFIX) ? readHexDigest(text.slice(PREFIX.length)) : undefined;
    if (!signature) return `header ${HEADER} is not "${PREFIX}" and 64 lower-case hex digits`;
    return { content: [request.rawBody], signatures: [signature] };
  },
};
