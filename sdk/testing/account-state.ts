/** The state of a channel account, for tests that run a channel without a gateway. */
import { type ChannelRun, openAccountState } from "../channels/index.ts";

/** `ChannelRun.openState` of an account. Runs that get the same function share the state. */
export function accountStateInMemory(): ChannelRun["openState"] {
  let stored: string | undefined;
  const record = {
    read: async () => stored,
    write: async (text: string) => void (stored = text),
  };
  return (schema) => openAccountState(schema, record);
}
