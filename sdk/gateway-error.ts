/** The error catalogue: every code the gateway may put on the wire, and the one door for what else is thrown. */

interface ErrorEntry {
  /** Status of the same refusal over HTTP. */
  readonly http: number;
  /** May the client send the very same request again, after `retryAfterMs` when it is given? */
  readonly retry: boolean;
  /** One sentence for people. */
  readonly meaning: string;
}

/** Every `error.code` the gateway may put on the wire. Spec: §7, protocol/frames-and-connect.md §2; "(choice)" is ours. */
export const ERRORS = {
  INVALID_REQUEST: { http: 400, retry: false, meaning: "The frame, the params or the credential are not acceptable." },
  UNAUTHORIZED: {
    http: 401,
    retry: false,
    meaning: "No credential, or one the gateway does not know; HTTP only. (choice)",
  },
  FORBIDDEN: {
    http: 403,
    retry: false,
    meaning: "The credential does not reach as far as the route asks; HTTP only. (choice)",
  },
  NOT_FOUND: { http: 404, retry: false, meaning: "The addressed thing does not exist." },
  TIMEOUT: { http: 408, retry: true, meaning: "The request body did not arrive in time; HTTP only. (choice)" },
  CONFLICT: { http: 409, retry: false, meaning: "Somebody else changed the thing first; read it again. (choice)" },
  PAYLOAD_TOO_LARGE: { http: 413, retry: false, meaning: "The body is larger than the endpoint takes." },
  TOO_MANY_ATTEMPTS: { http: 429, retry: true, meaning: "Too many failed attempts; see `retryAfterMs`." },
  UNAVAILABLE: {
    http: 503,
    retry: true,
    meaning: "Not possible right now: over a limit, not ready, or a dependency failed.",
  },
  NOT_PAIRED: { http: 403, retry: false, meaning: "The device has to be paired first." },
  NOT_LINKED: { http: 403, retry: false, meaning: "The channel account is not logged in." },
  AGENT_TIMEOUT: { http: 504, retry: false, meaning: "The agent run took longer than it was allowed to." },
  PROTOCOL_MISMATCH: {
    http: 400,
    retry: false,
    meaning: "The client speaks no protocol version this gateway speaks. (choice)",
  },
  INTERNAL: { http: 500, retry: false, meaning: "A bug. The log has it under the same correlation id. (choice)" },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

/** What a refusal may carry beside code and message. */
export interface RefusalOptions {
  /** Milliseconds until a retry can succeed. */
  readonly retryAfterMs?: number;
  /** Machine-readable particulars, e.g. `{ code: "MISSING_SCOPE" }`. Shown to the client. */
  readonly details?: unknown;
  /** Payload of the response that carries the error; a few methods answer both. Spec: frames-and-connect.md §2. */
  readonly payload?: unknown;
  readonly cause?: unknown;
}

/** A refusal that is safe to show to the client. Anything else that is thrown becomes `INTERNAL`. */
export class GatewayError extends Error {
  override readonly name = "GatewayError";
  readonly code: ErrorCode;
  readonly retryAfterMs: number | undefined;
  readonly details: unknown;
  readonly payload: unknown;

  constructor(code: ErrorCode, message: string, options: RefusalOptions = {}) {
    super(message, { cause: options.cause });
    this.code = code;
    this.retryAfterMs = options.retryAfterMs;
    this.details = options.details;
    this.payload = options.payload;
  }
}

/** Whether `thrown` is a `GatewayError` of this or another copy of the SDK. */
export function isGatewayError(thrown: unknown): thrown is GatewayError {
  return thrown instanceof Error && thrown.name === "GatewayError" && "code" in thrown && String(thrown.code) in ERRORS;
}

/** The words of whatever was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** @throws GatewayError always: `NOT_FOUND`. */
export function notFound(message: string): never {
  throw new GatewayError("NOT_FOUND", message);
}

/** @throws GatewayError always: `INVALID_REQUEST`. */
export function invalidRequest(message: string, details?: unknown): never {
  throw new GatewayError("INVALID_REQUEST", message, { details });
}

/** @throws GatewayError always: `UNAVAILABLE`, with the wait in milliseconds where one is known. */
export function unavailable(message: string, options: RefusalOptions = {}): never {
  throw new GatewayError("UNAVAILABLE", message, options);
}

/** The `error` object of a response frame. Absent keys are absent, never null: existing clients hang on either. */
export interface ErrorShape {
  code: ErrorCode;
  message: string;
  details?: unknown;
  retryable?: boolean;
  retryAfterMs?: number;
}

/** The one door: what a client is told about `thrown`. Never leaks the message of an unexpected error. */
export function toErrorShape(thrown: unknown, correlationId?: string): ErrorShape {
  if (!isGatewayError(thrown)) {
    return { code: "INTERNAL", message: `internal error${correlationId ? ` (${correlationId})` : ""}` };
  }
  const shape: ErrorShape = { code: thrown.code, message: thrown.message };
  if (thrown.details !== undefined) shape.details = thrown.details;
  if (thrown.retryAfterMs !== undefined) {
    shape.retryable = true;
    shape.retryAfterMs = Math.max(0, Math.ceil(thrown.retryAfterMs));
  }
  return shape;
}
