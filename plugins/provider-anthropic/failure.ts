/** Error messages for failures of a model server: the cause and the next step, never a secret. */
import { failureSentence, providerErrorOf, providerFailure, type ProviderFailureContext } from "@svc/kit/providers";
import { type GatewayError, isGatewayError } from "@svc/sdk";
import { kindOf, type Thrown } from "./failure-kind.ts";

/** Converts any error to `UNAVAILABLE`. */
export function toFailure(thrown: unknown, context: ProviderFailureContext): GatewayError {
  if (isGatewayError(thrown)) return thrown;
  const error: Thrown = providerErrorOf(thrown);
  const { account, now } = context;
  const kind = kindOf(error);
  const sentence = failureSentence(error, { kind, words: wordsOf(error), isTooLong: isTooLong(error) }, context);
  return providerFailure(error, { kind, sentence, account, now });
}

/** The texts by which the API reports a request that is too long; it has no error code for that. */
function isTooLong(error: Thrown): boolean {
  return /prompt is too long|exceeds? (?:the )?context|context window/iu.test(String(error.message));
}

interface ErrorBody {
  readonly error?: { readonly message?: unknown };
}

/** The server's message, if the body has the documented format. */
function wordsOf(error: Thrown): string | undefined {
  const own = (error.error as ErrorBody | undefined)?.error?.message;
  return typeof own === "string" ? own : undefined;
}
