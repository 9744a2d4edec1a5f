/** Error messages for failures of a model server: the cause and the next step, never a secret. */
import { failureSentence, providerErrorOf, providerFailure, type ProviderFailureContext } from "@svc/kit/providers";
import { type GatewayError, isGatewayError } from "@svc/sdk";
import { kindOf } from "./failure-kind.ts";

/** Converts any error to `UNAVAILABLE`. */
export function toFailure(thrown: unknown, context: ProviderFailureContext): GatewayError {
  if (isGatewayError(thrown)) return thrown;
  const error = providerErrorOf(thrown);
  const { account, now } = context;
  const kind = kindOf(error);
  const sentence = failureSentence(error, { kind, isTooLong: error.code === "context_length_exceeded" }, context);
  return providerFailure(error, { kind, sentence, account, now });
}
