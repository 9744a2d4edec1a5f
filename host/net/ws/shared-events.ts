/**
 * Events and notes on their way through the backplane. All gateways deliver them in one order. Events for named connections of this gateway do not leave it,
 * but keep their place among the others.
 */
import type { EventSpec } from "@svc/sdk";
import type { Carrier, SharedEvent } from "@svc/sdk/gateway";
import type { StateVersion } from "@svc/sdk/protocol";

/** What decides who receives an event. */
export type AudienceSpec = Pick<EventSpec, "name" | "scope" | "formerlyForAll">;

/** A published event. */
export interface Emission {
  readonly event: AudienceSpec;
  /** JSON; `undefined` without a payload. */
  readonly text: string | undefined;
  /** Every connection receives it. */
  readonly isForAll: boolean;
  /** Only these connections receive it. */
  readonly connections: readonly string[] | undefined;
  readonly isDroppable: boolean;
  readonly stateVersion?: StateVersion | undefined;
}

/** Place of an event in the common order. */
export type Place = Pick<SharedEvent, "n" | "seq">;

export interface SharedEventsOptions {
  readonly carrier: Carrier;
  /** Whether it is, or was, a connection of this gateway. */
  readonly isHere: (connectionId: string) => boolean;
  readonly deliver: (emission: Emission, place?: Place) => void;
  readonly noted: (text: string) => void;
}

interface Waiting {
  /** Absent: a note. */
  readonly emission?: Emission;
  /** Other gateways get it, too. */
  readonly isSent: boolean;
}

export class SharedEvents {
  readonly #options: SharedEventsOptions;
  /** Events of this gateway, oldest first; the first one was sent. */
  readonly #waiting: Waiting[] = [];

  constructor(options: SharedEventsOptions) {
    this.#options = options;
  }

  /** Whether clients of other gateways may receive an event for these connections. */
  leaves(connections: readonly string[] | undefined): boolean {
    return connections === undefined || connections.some((id) => !this.#options.isHere(id));
  }

  publish(emission: Emission): void {
    const { carrier, isHere, deliver } = this.#options;
    const { connections, isForAll } = emission;
    const isSent = this.leaves(connections);
    if (!isSent && this.#waiting.length === 0) return deliver(emission);
    this.#waiting.push({ emission, isSent });
    if (!isSent) return;
    const others = connections?.filter((id) => !isHere(id));
    carrier.send({ text: encode(emission, others), isNumbered: isForAll && connections === undefined });
  }

  note(text: string): void {
    this.#waiting.push({ isSent: true });
    this.#options.carrier.send({ text: `${NOTE}${text}`, isNumbered: false });
  }

  /** @returns the event, if another gateway has published it */
  deliver({ n, seq, text, isOwn }: SharedEvent): Emission | undefined {
    if (isOwn) {
      this.#cameBack({ n, seq });
      return undefined;
    }
    const said = decode(text);
    if (typeof said === "string") {
      this.#options.noted(said);
      return undefined;
    }
    this.#options.deliver(said, { n, seq });
    return said;
  }

  unsent(count: number): void {
    for (let left = count; left > 0; left -= 1) this.#cameBack();
  }

  /** Delivers what has not come back. */
  end(): void {
    while (this.#waiting.length > 0) this.#cameBack();
  }

  #cameBack(place?: Place): void {
    const { emission } = this.#waiting.shift() ?? {};
    if (emission) this.#options.deliver(emission, place);
    while (this.#waiting[0]?.isSent === false) {
      const here = this.#waiting.shift()?.emission;
      if (here) this.#options.deliver(here);
    }
  }
}

/** Beginning of a note; that of an event is its header. */
const NOTE = "\n";

/** The header of an event as other gateways read it; gateways of other versions may know other keys. */
interface Header {
  readonly event: AudienceSpec;
  readonly all?: true;
  readonly to?: readonly string[];
  readonly drop?: true;
}

/** A line with the header, then the payload. */
function encode({ event, text, isForAll, isDroppable }: Emission, to: readonly string[] | undefined): string {
  const { name, scope, formerlyForAll } = event;
  const header: Header = {
    event: { name, ...(scope && { scope }), ...(formerlyForAll && { formerlyForAll }) },
    ...(isForAll && { all: true }),
    ...(to && { to }),
    ...(isDroppable && { drop: true }),
  };
  return text === undefined ? JSON.stringify(header) : `${JSON.stringify(header)}\n${text}`;
}

/** An event, or the text of a note. */
export function decode(shared: string): Emission | string {
  if (shared.startsWith(NOTE)) return shared.slice(NOTE.length);
  const end = shared.indexOf("\n");
  const header = JSON.parse(end === -1 ? shared : shared.slice(0, end)) as Header; // written by `encode`
  return {
    event: header.event,
    text: end === -1 ? undefined : shared.slice(end + 1),
    isForAll: header.all === true,
    connections: header.to,
    isDroppable: header.drop === true,
  };
}
