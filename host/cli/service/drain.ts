/** `svc gateway drain`: stops the gateway while others on its state go on, and shows what is left. */
import type { CommandContext } from "@svc/sdk/cli";
import { GatewayError } from "@svc/sdk/errors";
import { type Holder, stateHolder } from "../state-lock.ts";
import { act } from "./service.ts";

/** Choice: milliseconds between two lines. */
const TELL_MS = 2_000;

/** @returns the exit code @throws GatewayError `NOT_FOUND` no gateway runs here; `INVALID_REQUEST` no other gateway goes on */
export async function drain(context: CommandContext): Promise<number> {
  const holder = await stateHolder(context.stateDir);
  if (!holder)
    throw new GatewayError(
      "NOT_FOUND",
      `no gateway runs on the state directory ${context.stateDir}\nNext: svc gateway run`,
    );
  if (!holder.others)
    throw new GatewayError(
      "INVALID_REQUEST",
      "no other gateway uses the database of this one, so clients would have nowhere to go\nNext: svc gateway stop",
    );
  tellLeft(context, holder);
  const telling = setInterval(() => {
    void stateHolder(context.stateDir).then((now) => now && tellLeft(context, now));
  }, TELL_MS);
  try {
    return await act("stop", context);
  } finally {
    clearInterval(telling);
  }
}

function tellLeft({ json, note }: CommandContext, { clients = 0, busy = [], others = 0 }: Holder): void {
  if (json) return;
  const work = busy.length > 0 ? `, and work in flight (${busy.join(", ")})` : "";
  note(`${clients} clients${work} left; ${others} other ${others === 1 ? "gateway goes" : "gateways go"} on`);
}
