/** Messages of agents: stored first, then shown on every open page of the visitor. */
import { type Clock, invalidRequest, notFound } from "@svc/sdk";
import type { Channel } from "@svc/sdk/channels";
import type { Settings } from "./config.ts";
import type { Buttons, ShownMessage } from "./protocol.ts";
import type { Sockets } from "./sockets.ts";
import type { Store } from "./store.ts";

export const MAX_MEDIA_BYTES = 2_000_000;

export interface OutgoingSources {
  readonly store: Store;
  readonly sockets: Pick<Sockets, "deliver">;
  readonly clock: Pick<Clock, "now">;
}

export type Outgoing = Pick<Required<Channel<Settings>>, "send" | "edit" | "typing">;

export function createOutgoing({ store, sockets, clock }: OutgoingSources): Outgoing {
  return {
    async send({ accountId: account, settings, signal, id, to: visitor, text, media, buttons }) {
      signal.throwIfAborted();
      const place = { account, visitor };
      if (!Object.hasOwn(settings.knownVisitors, visitor) && !(await store.hasVisitor(place)))
        invalidRequest(`there is no visitor ${visitor}; next: wait until the person opens the page again`);
      if (media && media.bytes.byteLength > MAX_MEDIA_BYTES)
        invalidRequest(`the file has more than ${MAX_MEDIA_BYTES} bytes; next: send a link to it`);
      const message: ShownMessage = {
        id: `a-${id}`,
        from: "agent",
        text,
        at: clock.now(),
        ...shown(buttons),
        ...(media ? { file: { name: media.name, mimeType: media.mimeType, size: media.bytes.byteLength } } : {}),
      };
      signal.throwIfAborted();
      const isNew = await store.add(place, message, settings.visitorDays, media?.bytes);
      if (isNew) sockets.deliver(account, visitor, { type: "message", ...message });
      return { messageId: message.id };
    },

    async edit({ accountId: account, signal, to: visitor, messageId, text, buttons }) {
      signal.throwIfAborted();
      const rows = shown(buttons);
      if (!(await store.change({ account, visitor }, messageId, text, rows.buttons)))
        notFound(`there is no message ${messageId} any more`);
      sockets.deliver(account, visitor, { type: "edit", messageId, text, ...rows });
    },

    async typing({ accountId, to }) {
      sockets.deliver(accountId, to, { type: "typing" });
    },
  };
}

function shown(buttons: Buttons = []): { readonly buttons?: Buttons } {
  const rows = buttons.filter((row) => row.length > 0);
  return rows.length > 0 ? { buttons: rows } : {};
}
