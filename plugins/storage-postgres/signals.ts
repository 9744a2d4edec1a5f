/** Short messages between gateways, by NOTIFY. A message may be lost with a connection; `missed` tells so. */
import type { Client } from "pg";

const CHANNEL = "svc";
/** Choice: milliseconds until the next attempt to listen again. */
const RETRY_MS = 1_000;

/** SQL with one parameter: sends a message to the gateways on this database, this one included. */
export const NOTIFY = `SELECT pg_notify('${CHANNEL}', ?)`;

export interface Listening {
  readonly heard: (message: string) => void;
  /** Called when messages may have been lost, once it listens again. */
  readonly missed: () => void;
}

/** @param connect opens a connection; `lost` is called once when it is lost @returns ends it */
export async function listen(
  connect: (lost: () => void) => Promise<Client>,
  { heard, missed }: Listening,
): Promise<() => Promise<void>> {
  let client: Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;

  async function open(): Promise<void> {
    const opened = await connect(again);
    opened.on("notification", ({ payload = "" }) => heard(payload));
    await opened.query(`LISTEN ${CHANNEL}`);
    client = opened;
    if (isOver) await close();
  }

  function again(): void {
    client = undefined;
    if (isOver || timer) return;
    timer = setTimeout(() => {
      timer = undefined;
      open().then(missed, again);
    }, RETRY_MS).unref();
  }

  async function close(): Promise<void> {
    isOver = true;
    clearTimeout(timer);
    const closing = client;
    client = undefined;
    await closing?.end().catch(() => undefined);
  }

  await open();
  return close;
}
