/** The error catalog: every error code on the wire, and the conversion of thrown values to errors for clients. */

interface ErrorEntry {
  /** HTTP status of the error. */
  readonly http: number;
  /** Whether the client may send the same request again, after `retryAfterMs` if present. */
  readonly retry: boolean;
  /** One sentence for people. */
  readonly meaning: string;
}

/**
 * Every `error.code` on the wire. Spec: §7, protocol/frames-and-connect.md §2; "(choice)" marks codes specific to this
 * gateway.
 */
export const ERRORS = {
  INVALID_REQUEST: { http: 400, retry: false, meaning: "The frame, the params or the credential is invalid." },
  UNAUTHORIZED: {
    http: 401,
    retry: false,
    meaning: "Missing or unknown credential; HTTP only. (choice)",
  },
  FORBIDDEN: {
    http: 403,
    retry: false,
    meaning:
      "The credential lacks the permission that the route, or for clients of protocol 4 the method, requires. (choice)",
  },
  NOT_FOUND: { http: 404, retry: false, meaning: "The requested object does not exist." },
  TIMEOUT: { http: 408, retry: true, meaning: "The request body did not arrive in time; HTTP only. (choice)" },
  CONFLICT: { http: 409, retry: false, meaning: "The object was changed by another client; read it again. (choice)" },
  PAYLOAD_TOO_LARGE: { http: 413, retry: false, meaning: "The body exceeds the size limit of the endpoint." },
  TOO_MANY_ATTEMPTS: { http: 429, retry: true, meaning: "Too many failed attempts; see `retryAfterMs`." },
  UNAVAILABLE: {
    http: 503,
    retry: true,
    meaning: "Not possible right now: over a limit, not ready, or a dependency failed.",
  },
  NOT_PAIRED: { http: 403, retry: false, meaning: "The device must be paired first." },
  NOT_LINKED: { http: 403, retry: false, meaning: "The channel account is not logged in." },
  AGENT_TIMEOUT: { http: 504, retry: false, meaning: "The agent run exceeded its time limit." },
  PROTOCOL_MISMATCH: {
    http: 400,
    retry: false,
    meaning: "Client and gateway share no protocol version. (choice)",
  },
  INTERNAL: {
    http: 500,
    retry: false,
    meaning: "Internal error; the log has it under the same correlation id. (choice)",
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

/** Optional facts of an error in addition to code and message. */
export interface RefusalOptions {
  /** Milliseconds until a retry can succeed. */
  readonly retryAfterMs?: number;
  /** Machine-readable details, e.g. `{ code: "MISSING_SCOPE" }`. Sent to the client. */
  readonly details?: unknown;
  /** Payload of the response that carries the error; a few methods send both. Spec: frames-and-connect.md §2. */
  readonly payload?: unknown;
  readonly cause?: unknown;
}

/** An error that is safe to show to the client. Any other thrown value becomes `INTERNAL`. */
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

/** Whether `thrown` is a `GatewayError` from this or another copy of the SDK. */
export function isGatewayError(thrown: unknown): thrown is GatewayError {
  return thrown instanceof Error && thrown.name === "GatewayError" && "code" in thrown && String(thrown.code) in ERRORS;
}

/** The message of any thrown value. */
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

/** @throws GatewayError always: `UNAVAILABLE`, with `retryAfterMs` if given */
export function unavailable(message: string, options: RefusalOptions = {}): never {
  throw new GatewayError("UNAVAILABLE", message, options);
}

/** The `error` object of a response frame. Unset keys are absent, never null: existing clients rely on it. */
export interface ErrorShape {
  code: ErrorCode;
  message: string;
  details?: unknown;
  retryable?: boolean;
  retryAfterMs?: number;
}

/** Converts any thrown value to the error sent to the client. Never leaks the message of an unexpected error. */
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
