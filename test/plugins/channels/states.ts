/** What accounts remember, for tests that run a channel without the plugin channels. */
import type { Channel, ChannelRun } from "@svc/sdk/channels";
import { accountStateInMemory } from "@svc/sdk/testing";

type OpenState = ChannelRun["openState"];
const states = new WeakMap<Channel, Map<string, OpenState>>();

/** `ChannelRun.openState` of an account: the same one for each of its runs. */
export function openStateOf(channel: Channel, accountId: string): OpenState {
  const own = states.get(channel) ?? new Map<string, OpenState>();
  states.set(channel, own);
  const open = own.get(accountId) ?? accountStateInMemory();
  own.set(accountId, open);
  return open;
}

/** The accounts of `next` remember what those of `former` have stored, as after a restart of the gateway. */
export function restarted(former: Channel, next: Channel): Channel {
  const own = states.get(former);
  if (own) states.set(next, own);
  return next;
}
