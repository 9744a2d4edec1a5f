/**
 * Events of all gateways on the database, in one order. Each gateway has one connection for them: it numbers its texts in batches, and is notified
 * of those of all gateways. `svc_ring` holds the texts of the last minutes, for a gateway that has just started or has lost its connection.
 *
 * Commits do not wait for the disk, and the ring is empty after a crash of the server: then, and when a gateway could not send its events, the next
 * epoch begins, far above all numbers that clients may have seen.
 */
import { randomUUID } from "node:crypto";
import { type Logger, messageOf } from "@svc/sdk";
import type { Backplane, BackplaneEnd, SharedEvent, SharedPlace, SharedText } from "@svc/sdk/gateway";
import type { Client } from "pg";
import { isUnique } from "./failures.ts";

/** Choice: texts of a batch, and their characters; a larger text is a batch of its own. */
const MOST_TEXTS = 500;
const MOST_CHARS = 1_048_576;
/** PostgreSQL allows 8,000 bytes in a notification; above this, it has the numbers only. */
const MOST_NOTIFIED_BYTES = 7_500;
/** Choice: what may wait while the database is away, in texts and characters. */
const MOST_WAITING = 10_000;
const MOST_WAITING_CHARS = 33_554_432;
/** Choice: milliseconds a text waits for the database; then it reaches only the clients of this gateway. */
const PATIENCE_MS = 10_000;
const RETRY_MS = 1_000;
/** Choice: outages whose texts are remembered. */
const MOST_FORMER = 100;
/** Choice: milliseconds between two checks of the connection. */
const CHECK_MS = 5_000;
/** Choice: milliseconds between two deletions of old texts, the age in seconds from which they are deleted, and their most number. */
const TRIM_MS = 30_000;
const KEPT_S = 120;
const MOST_KEPT = 50_000;
/** Texts of a starting gateway's history, and of one read of the ring. */
const HISTORY = 1_000;
const PAGE = 500;
/** Distance between the numbers of two epochs. */
const LEAP = 1_000_000;

const CHANNEL = "'svc_events_' || current_schema()";
const SEND = `WITH head AS (
    UPDATE svc_stream SET n = n + $3, seq = seq + $4
    WHERE EXISTS (SELECT 1 FROM svc_ring_intact WHERE svc_ring_intact.epoch = svc_stream.epoch)
    RETURNING epoch, n, seq),
  added AS (
    INSERT INTO svc_ring (n, epoch, seq, sender, part, text)
    SELECT head.n - $3 + place, head.epoch,
      CASE WHEN numbered THEN head.seq - $4 + count(*) FILTER (WHERE numbered) OVER (ORDER BY place) END,
      $5, $6 + place, given.text
    FROM head, unnest($1::text[], $2::boolean[]) WITH ORDINALITY AS given (text, numbered, place))
  SELECT n, pg_notify(${CHANNEL}, concat_ws(' ', epoch, n, seq, $7::text)) FROM head`;
/** The lock comes first, so that the next statement sees what another gateway has done about it. */
const RENEW = (isForced: boolean) => `BEGIN; SET LOCAL synchronous_commit = on; SELECT 1 FROM svc_stream FOR UPDATE;
  ${isForced ? "DELETE FROM svc_ring_intact;" : ""}
  UPDATE svc_stream SET epoch = epoch + 1, n = n + ${LEAP}, seq = seq + ${LEAP}
    WHERE NOT EXISTS (SELECT 1 FROM svc_ring_intact WHERE svc_ring_intact.epoch = svc_stream.epoch);
  INSERT INTO svc_ring_intact SELECT epoch FROM svc_stream ON CONFLICT DO NOTHING; COMMIT`;
const HEAD = "SELECT name, epoch, n FROM svc_stream";
const RING = `SELECT n, epoch, seq, sender, text FROM svc_ring WHERE n > $1 ORDER BY n LIMIT ${PAGE}`;
const LATEST = `SELECT n, epoch, seq, sender, text FROM svc_ring WHERE n <= $1 AND epoch = $2 ORDER BY n DESC LIMIT ${HISTORY}`;
const TRIM = `DELETE FROM svc_ring WHERE n < (SELECT min(n) FROM svc_ring WHERE at > now() - interval '${KEPT_S} s')
  OR n <= (SELECT max(n) FROM svc_ring) - ${MOST_KEPT}`;

export interface EventStreamParts {
  /** Opens a connection; `lost` is called once when it is lost. */
  readonly connect: (lost: () => void) => Promise<Client>;
  readonly backplane: Backplane;
  readonly log: Pick<Logger, "info" | "warn">;
}

interface Row {
  readonly n: number;
  readonly epoch: number;
  readonly seq: number | null;
  readonly sender: string;
  readonly text: string;
}

interface Head {
  readonly name: string;
  readonly epoch: number;
  readonly n: number;
}

interface Waiting extends SharedText {
  /** Monotonic ms. */
  readonly at: number;
}

/** The end of a notification, after the epoch and the last numbers of its batch. */
interface Batch {
  readonly sender: string;
  readonly size: number;
  /** Absent: they are too large. */
  readonly texts?: readonly SharedText[];
}

export class EventStream {
  readonly #parts: EventStreamParts;
  #client: Client | undefined;
  #end: BackplaneEnd | undefined;
  /** Texts that have not come back, oldest first. */
  #waiting: Waiting[] = [];
  #chars = 0;
  /** Up to where this gateway has the events of all. */
  #head: Head = { name: "", epoch: 0, n: 0 };
  #sender: string = randomUUID();
  /** How many texts of the sender have come back. */
  #cameBack = 0;
  /** Texts of these senders were given back, although some may have been numbered. */
  readonly #former = new Set<string>();
  /** Texts were given back; the next epoch tells so. */
  #isApart = false;
  /** The connection over which texts are being sent. */
  #sending: Client | undefined;
  #reading: Promise<void> | undefined;
  #isReadAgain = false;
  #isClosed = false;
  #members: Parameters<BackplaneEnd["members"]> = [undefined, new Set()];
  #retry: NodeJS.Timeout | undefined;
  readonly #timers: NodeJS.Timeout[] = [];

  constructor(parts: EventStreamParts) {
    this.#parts = parts;
  }

  /** @throws the error of the connection or of the server */
  async open(): Promise<void> {
    const { backplane } = this.#parts;
    const client = await this.#connect();
    if (backplane.seq > 0) await client.query("UPDATE svc_stream SET seq = greatest(seq, $1)", [backplane.seq]);
    this.#head = (await client.query<Head>(HEAD)).rows[0] as Head; // a migration step has inserted it
    const { rows } = await client.query<Row>(LATEST, [this.#head.n, this.#head.epoch]);
    const history = rows.toReversed().map((row) => this.#eventOf(row));
    this.#end = backplane.join({ send: (text) => this.#send(text) }, { ...this.#place(), history });
    this.#end.members(...this.#members);
    this.#every(CHECK_MS, () => this.#read());
    this.#every(TRIM_MS, () => this.#client?.query(TRIM));
    this.#every(RETRY_MS, () => this.#loseOld());
    void this.#read(); // what was notified meanwhile
  }

  /** As `members` of `BackplaneEnd`. */
  members(self: string | undefined, present: ReadonlySet<string>): void {
    this.#members = [self, present];
    this.#end?.members(self, present);
  }

  /** Sends what waits, for up to a second. Safe to call twice. */
  async close(): Promise<void> {
    const until = performance.now() + RETRY_MS;
    while (this.#client && this.#waiting.length > 0 && performance.now() < until)
      await new Promise((resolve) => setTimeout(resolve, 10));
    this.#isClosed = true;
    for (const timer of this.#timers) clearInterval(timer);
    clearTimeout(this.#retry);
    this.#end?.leave();
    this.#end = undefined;
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => undefined);
  }

  #every(ms: number, work: () => unknown): void {
    const run = async () => void (await work());
    this.#timers.push(setInterval(() => run().catch(() => undefined), ms).unref()); // a connection that fails is opened again
  }

  // The connection

  async #connect(): Promise<Client> {
    let client: Client | undefined;
    client = await this.#parts.connect(() => client && this.#lose(client));
    try {
      client.on("notification", ({ payload = "" }) => this.#notified(payload));
      const { rows } = await client.query<{ name: string }>(`SELECT quote_ident(${CHANNEL}) AS name`);
      await client.query(`LISTEN ${rows[0]?.name}`);
      await client.query(RENEW(this.#isApart));
    } catch (error) {
      client.end().catch(() => undefined);
      throw error;
    }
    this.#isApart = false;
    if (this.#isClosed) await client.end();
    else this.#client = client;
    return client;
  }

  #lose(client: Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    client.end().catch(() => undefined);
    this.#connectAgain();
  }

  #connectAgain(): void {
    clearTimeout(this.#retry);
    if (this.#isClosed) return;
    const open = async () => {
      await this.#connect();
      await this.#read(); // some texts may have been numbered before the connection was lost
      this.#sendAll();
    };
    this.#retry = setTimeout(() => open().catch(() => this.#connectAgain()), RETRY_MS).unref();
  }

  // Texts of this gateway

  #send(text: SharedText): void {
    this.#waiting.push({ ...text, at: performance.now() });
    this.#chars += text.text.length;
    const isTooMuch = this.#waiting.length > MOST_WAITING || this.#chars > MOST_WAITING_CHARS;
    if (this.#isApart || isTooMuch) this.#giveBack();
    else this.#sendAll();
  }

  #sendAll(): void {
    const client = this.#client;
    if (!client || this.#sending === client) return;
    this.#sending = client;
    this.#sendOver(client)
      .catch((error: unknown) => {
        this.#parts.log.warn({ reason: messageOf(error) }, "events could not be sent to the other gateways; retrying");
        this.#lose(client);
      })
      .finally(() => {
        if (this.#sending === client) this.#sending = undefined;
      });
  }

  async #sendOver(client: Client): Promise<void> {
    await Promise.resolve(); // texts of one tick are sent together
    while (this.#client === client && this.#waiting.length > 0) {
      const texts = this.#nextBatch();
      const params = [
        texts.map(({ text }) => text),
        texts.map(({ isNumbered }) => isNumbered),
        texts.length,
        texts.filter(({ isNumbered }) => isNumbered).length,
        this.#sender,
        this.#cameBack,
        notificationOf(this.#sender, texts),
      ];
      try {
        const { rows } = await client.query<{ n: number }>({ name: "svc_send", text: SEND, values: params });
        const [sent] = rows;
        if (!sent) await client.query(RENEW(false));
        else if (this.#client === client && sent.n > this.#head.n) await this.#read(); // the notification was too small for them
      } catch (error) {
        if (!isUnique(error)) throw error;
        await this.#read(); // they were sent over the former connection after all
      }
    }
  }

  #nextBatch(): SharedText[] {
    let chars = 0;
    const end = this.#waiting.findIndex(({ text }, index) => index > 0 && (chars += text.length) > MOST_CHARS);
    const most = end === -1 ? this.#waiting.length : end;
    return this.#waiting.slice(0, Math.min(most, MOST_TEXTS));
  }

  #loseOld(): void {
    const [oldest] = this.#waiting;
    if (oldest && performance.now() - oldest.at > PATIENCE_MS) this.#giveBack();
  }

  #giveBack(): void {
    const count = this.#waiting.length;
    this.#waiting = [];
    this.#chars = 0;
    if (!this.#isApart) {
      this.#parts.log.warn({}, "events reach only the clients of this gateway until the database can be used again");
      this.#isApart = true;
      this.#former.add(this.#sender);
      const [oldest = ""] = this.#former;
      if (this.#former.size > MOST_FORMER) this.#former.delete(oldest);
      this.#sender = randomUUID();
      this.#cameBack = 0;
      if (this.#client) this.#lose(this.#client);
    }
    this.#end?.unsent(count);
  }

  // Events of all gateways

  #notified(payload: string): void {
    const [epoch = 0, n = 0, seq = 0] = payload.split(" ", 3).map(Number);
    const { sender, size, texts } = JSON.parse(payload.slice(payload.indexOf("{"))) as Batch; // written by `notificationOf`
    if (epoch === this.#head.epoch && n <= this.#head.n) return;
    if (!texts || epoch !== this.#head.epoch || n - size !== this.#head.n) return void this.#read();
    let number = seq - texts.filter(({ isNumbered }) => isNumbered).length;
    this.#accept(
      texts.map(({ text, isNumbered }, index) => {
        if (isNumbered) number += 1;
        return { n: n - size + index + 1, epoch, seq: isNumbered ? number : null, sender, text };
      }),
    );
  }

  /** Reads what this gateway has not seen; once more if asked meanwhile. Never rejects: a connection that fails is opened again. */
  #read(): Promise<void> {
    this.#isReadAgain = true;
    return (this.#reading ??= this.#readAll().finally(() => (this.#reading = undefined)));
  }

  async #readAll(): Promise<void> {
    while (this.#isReadAgain) {
      this.#isReadAgain = false;
      const client = this.#client;
      if (!client) return;
      await this.#readOver(client).catch(() => this.#lose(client));
    }
  }

  async #readOver(client: Client): Promise<void> {
    for (let isAll = false; !isAll;) {
      const head = (await client.query<Head>(HEAD)).rows[0] as Head;
      const { rows } = await client.query<Row>({ name: "svc_ring", text: RING, values: [this.#head.n] });
      if (this.#client !== client) return;
      if (rows.length > 0) this.#accept(rows);
      else if (head.epoch !== this.#head.epoch) this.#renew(head);
      else if (head.n > this.#head.n) this.#miss(head);
      isAll = head.epoch === this.#head.epoch && head.n <= this.#head.n;
    }
  }

  #accept(rows: readonly Row[]): void {
    const fresh = rows.filter(({ n }) => n > this.#head.n);
    let events: SharedEvent[] = [];
    for (const row of fresh) {
      const { epoch, n, sender } = row;
      const isNext = epoch === this.#head.epoch && n === this.#head.n + 1;
      if (!isNext) {
        this.#deliver(events);
        events = [];
        if (epoch === this.#head.epoch) this.#miss({ ...this.#head, n: n - 1 });
        else this.#renew({ ...this.#head, epoch, n: n - 1 });
      }
      this.#head = { ...this.#head, n };
      if (!this.#former.has(sender)) events.push(this.#eventOf(row));
    }
    this.#deliver(events);
  }

  #deliver(events: readonly SharedEvent[]): void {
    const own = this.#waiting.splice(0, events.filter(({ isOwn }) => isOwn).length);
    this.#cameBack += own.length;
    for (const { text } of own) this.#chars -= text.length;
    this.#end?.deliver(events);
  }

  #eventOf({ n, seq, sender, text }: Row): SharedEvent {
    return { n, seq: seq ?? undefined, text, isOwn: sender === this.#sender };
  }

  #renew(head: Head): void {
    this.#head = head;
    this.#parts.log.info({}, "events may have been lost; clients are told");
    this.#end?.renew({ ...this.#place(), history: [] });
  }

  #miss(head: Head): void {
    this.#head = head;
    this.#parts.log.warn(
      {},
      "this gateway was without the database for too long and has missed events; its clients connect again",
    );
    this.#end?.missed({ ...this.#place(), history: [] });
  }

  #place(): Omit<SharedPlace, "history"> {
    const { name, epoch, n } = this.#head;
    return { epoch: `${name}.${epoch}`, n };
  }
}

function notificationOf(sender: string, texts: readonly SharedText[]): string {
  const size = texts.length;
  const chars = texts.reduce((sum, { text }) => sum + text.length, 0);
  if (chars > MOST_NOTIFIED_BYTES) return JSON.stringify({ sender, size });
  const whole = JSON.stringify({ sender, size, texts: texts.map(({ text, isNumbered }) => ({ text, isNumbered })) });
  return Buffer.byteLength(whole) <= MOST_NOTIFIED_BYTES ? whole : JSON.stringify({ sender, size });
}
