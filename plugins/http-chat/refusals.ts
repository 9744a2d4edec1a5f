/** Error replies in the format of the public API. Pure. Spec: http/chat-completions.md §7. */
import { ERRORS, type GatewayError, isGatewayError, type RouteReply } from "@svc/sdk";
import { type DetailCode, refusal } from "@svc/sdk/errors";

/** The `error` object of a response or a stream. */
export interface ApiError {
  readonly message: string;
  readonly type: string;
  /** The invalid field, e.g. `messages[0].content`. */
  readonly param: string | null;
  readonly code: string | null;
}

/** An error with its status and retry hints. */
export interface Failure {
  readonly status: number;
  readonly error: ApiError;
  /** Milliseconds until a retry makes sense. */
  readonly retryAfterMs?: number | undefined;
  /** `false`: clients that retry automatically must not retry. */
  readonly mayRepeat: boolean;
}

/** Fields of `details` used here. */
interface Particulars {
  readonly param?: string;
  readonly code?: string;
}

const TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  403: "forbidden",
  404: "invalid_request_error",
  409: "conflict",
  413: "invalid_request_error",
  503: "unavailable",
};

/** @throws GatewayError `INVALID_REQUEST` naming the field */
export function refuseField(param: string, message: string, code: DetailCode = "invalid_value"): never {
  throw refusal(code, `${param}: ${message}`, { param });
}

/** Runs `work`; attributes its refusals to the field. */
export async function blaming<T>(param: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isGatewayError(error) && error.code === "INVALID_REQUEST") refuseField(param, error.message);
    throw error;
  }
}

export function failureOf({ code: name, message, details, retryAfterMs }: GatewayError): Failure {
  const status = ERRORS[name].http;
  const { param = null, code = status === 404 ? "model_not_found" : null } = (details ?? {}) as Particulars; // other errors have neither
  const error = { message, type: TYPES[status] ?? "api_error", param, code };
  return { status, error, retryAfterMs, mayRepeat: ERRORS[name].retry };
}

export function failureReply({ status, error, retryAfterMs, mayRepeat }: Failure): RouteReply {
  return {
    status,
    headers: {
      ...(retryAfterMs === undefined ? {} : { "Retry-After": String(Math.max(1, Math.ceil(retryAfterMs / 1_000))) }),
      ...(status >= 500 || status === 409 ? { "x-should-retry": String(mayRepeat) } : {}),
    },
    body: { error },
  };
}
