/** What to type after a refusal. Pure. */
import { detailsCode } from "./error-codes.ts";
import { GatewayError, isGatewayError } from "./gateway-error.ts";

/** How to go on where a refusal does not say so itself. */
export interface NextStep {
  /** Plugin whose methods are called, for a gateway that does not have them. */
  readonly plugin: string;
  /** The command as it is typed, or what else to do; `undefined`: nothing is known. */
  readonly step: string | ((refusal: GatewayError) => string | undefined);
}

/**
 * A refusal with the way on in a line of its own, as all commands show it. What methods write into their sentence
 * (`... Next: svc x`) gets its line; one that names a command of `svc` stays; what is no refusal stays as well.
 */
export function withNext(thrown: unknown, next: NextStep): unknown {
  if (!isGatewayError(thrown)) return thrown;
  const own = thrown.message.replace(/[.;]? Next: /, "\nNext: ");
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

/** Whether a message for people has a line with the next step; commands add none then. */
export function namesNextStep(message: string): boolean {
  return /^Next: /m.test(message);
}

function stepAfter(refusal: GatewayError, { plugin, step }: NextStep): string | undefined {
  if (detailsCode(refusal) === "UNKNOWN_METHOD") {
    const { plugin: provider = plugin } = refusal.details as { readonly plugin?: string };
    return `svc plugins why ${provider}`;
  }
  return typeof step === "string" ? step : step(refusal);
}
