import type { Receipt } from "@svc/sdk/channels";

/** What a person is told whose command is refused; `undefined`: it was accepted. */
export function refusedCommand(receipt: Receipt): string | undefined {
  if (receipt.accepted || receipt.reason === "duplicate") return undefined;
  if (receipt.reason === "pairing") return "The agent does not know you yet. It sent you a code for its owner.";
  if (receipt.reason === "invalid") return "The agent could not read this command.";
  return "The agent does not accept commands from you here.";
}
