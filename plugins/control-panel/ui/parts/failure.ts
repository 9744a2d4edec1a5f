/** Errors as people read them. */
import { isGatewayError } from "@svc/sdk/errors";

/** The message of an error, and the next step if the gateway named one. */
export function detailsOf(error: unknown): { readonly message: string; readonly next?: string } {
  if (!isGatewayError(error)) return { message: error instanceof Error ? error.message : String(error) };
  const { nextStep } = Object(error.details) as { readonly nextStep?: unknown };
  const [message = "", ...rest] = error.message.split("\nNext: ");
  const next = typeof nextStep === "string" ? nextStep : rest[0];
  return { message, ...(next === undefined ? {} : { next }) };
}
