/** Buttons as actions of message attachments, and their signatures. Pure. */
import { createHmac } from "node:crypto";
import type { MessageButton } from "@svc/sdk/channels";
import type { Settings } from "./config.ts";

/** Path of the HTTP routes of an account. */
export const routeOf = (accountId: string, route: "action" | "command") => `/plugins/mattermost/${accountId}/${route}`;

/** What a pressed button sends to the gateway; people never see it. */
export interface ButtonContext {
  readonly value: string;
  readonly label: string;
  /** Of value, label and channel, so that a button works only where it was sent. */
  readonly sig: string;
}

/** The part of an attachment that is used. */
export interface Attachment {
  readonly actions: readonly {
    readonly id: string;
    readonly name: string;
    readonly type: "button";
    readonly style: string;
    readonly integration: { readonly url: string; readonly context: ButtonContext };
  }[];
}

interface ButtonPlace {
  readonly accountId: string;
  readonly channelId: string;
  readonly settings: Settings;
}

/** One attachment for each row; none without `callbackUrl`. */
export function attachmentsOf(
  rows: readonly (readonly MessageButton[])[],
  { accountId, channelId, settings: { botToken, callbackUrl } }: ButtonPlace,
): readonly Attachment[] {
  if (callbackUrl === undefined) return [];
  const url = `${callbackUrl}${routeOf(accountId, "action")}`;
  return rows
    .filter((row) => row.length > 0)
    .map((row, rowIndex) => ({
      actions: row.map(({ label, value, style = "default" }, index) => ({
        id: `row${rowIndex}button${index}`, // the server accepts only letters and digits
        name: label,
        type: "button",
        style,
        integration: { url, context: { value, label, sig: signatureOf(botToken, channelId, { value, label }) } },
      })),
    }));
}

/** HMAC-SHA-256 with a key that is derived from the token. */
export function signatureOf(
  botToken: string,
  channelId: string,
  { value, label }: Pick<ButtonContext, "value" | "label">,
): string {
  const key = createHmac("sha256", botToken).update("svc mattermost buttons").digest();
  return createHmac("sha256", key)
    .update(JSON.stringify([channelId, value, label]))
    .digest("base64url");
}
