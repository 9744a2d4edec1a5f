/** Headers that every HTTP response carries. Spec: §4.4, http/auth.md §4 "Responses". */
import { type IncomingMessage, ServerResponse } from "node:http";

const FIXED = { "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" } as const;
const HSTS = "strict-transport-security";

/**
 * Keyed by lower-case name.
 * @param strictTransportSecurity `gateway.http.securityHeaders.strictTransportSecurity`. Default false; blank means false.
 */
export function securityHeaders(strictTransportSecurity: string | false = false): Readonly<Record<string, string>> {
  const hsts = strictTransportSecurity === false ? "" : strictTransportSecurity.trim();
  return hsts === "" ? FIXED : { ...FIXED, [HSTS]: hsts };
}

export function isSecurityHeader(name: string): boolean {
  return name === HSTS || name in FIXED;
}

/** The class of responses that carry these headers from the start. @param headers called once for each response */
export function responsesWith(headers: () => Readonly<Record<string, string>>): typeof ServerResponse {
  return class<Request extends IncomingMessage> extends ServerResponse<Request> {
    constructor(request: Request) {
      super(request);
      for (const [name, value] of Object.entries(headers())) this.setHeader(name, value);
    }
  };
}
