/** Settings of an account, as the plugin `whatsapp` reads them from `channels.whatsapp`. */
export interface Settings {
  /** Digits of the linked number; empty before the first login. */
  readonly number: string;
  /** Only what the owner of the number writes to the own chat is read. */
  readonly selfChat: boolean;
  readonly sendReadReceipts: boolean;
  /** People see that the number is online while the account runs. */
  readonly showOnline: boolean;
  /** Address of the WebSocket of WhatsApp Web. */
  readonly webUrl: string;
  /** Milliseconds between two pings. */
  readonly pingMs: number;
}
