/** The next step after an error. Pure. */
import { detailsCode } from "./error-codes.ts";
import { GatewayError, isGatewayError } from "./gateway-error.ts";

/** Next step for errors that name none. */
export interface NextStep {
  /** Plugin that serves the called methods, in case the gateway does not have them. */
  readonly plugin: string;
  /** The command to type, or another action; `undefined`: unknown. */
  readonly step: string | ((refusal: GatewayError) => string | undefined);
}

/**
 * Puts the next step of a refusal on its own line, as all commands show it. A next step within the message (`... Next:
 * svc x`, `...; next: svc x`) is moved to its own line; a message that names an `svc` command stays unchanged, and so do other errors.
 */
export function withNext(thrown: unknown, next: NextStep): unknown {
  if (!isGatewayError(thrown)) return thrown;
  const own = thrown.message.replace(/[.;]? Next: |; next: /, "\nNext: ");
  const step = namesNextStep(own) || /\bsvc [a-z]/.test(own) ? undefined : stepAfter(thrown, next);
  const message = step === undefined ? own : `${own}\nNext: ${step}`;
  if (message === thrown.message) return thrown;
  const { code, details, retryAfterMs } = thrown;
  return new GatewayError(code, message, {
    details,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    cause: thrown,
  });
}

/** Whether a message already names the next step, so that commands add none. */
export function namesNextStep(message: string): boolean {
  return /^Next: |; next: /m.test(message);
}

function stepAfter(refusal: GatewayError, { plugin, step }: NextStep): string | undefined {
  if (detailsCode(refusal) === "UNKNOWN_METHOD") {
    const { plugin: provider = plugin } = refusal.details as { readonly plugin?: string };
    return `svc plugins why ${provider}`;
  }
  return typeof step === "string" ? step : step(refusal);
}
