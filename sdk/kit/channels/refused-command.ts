import type { Receipt } from "@svc/sdk/channels";

/** What a person is told whose command is refused; `undefined`: it was accepted. */
export function refusedCommand(receipt: Receipt): string | undefined {
  if (receipt.accepted || receipt.reason === "duplicate") return undefined;
  return receipt.reason === "pairing"
    ? "The agent does not know you yet. It sent you a code for its owner."
    : "The agent does not accept commands from you here.";
}
