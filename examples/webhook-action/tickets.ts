/** A webhook action in one file: mappings with `action: "ticket"` file tickets, and `tickets.list` shows them. */
import { defineContract, defineEvent, definePlugin, invalidRequest, matches, type Static, Type } from "@svc/sdk";
import { type Row, Storage } from "@svc/sdk/storage";
import { WebhookAction, type WebhookJob } from "@svc/sdk/webhooks";

/** Fields filled by a mapping. Only people read them; mark a text that a model will read with `external: true`. */
const Fields = Type.Object({
  title: Type.String({ minLength: 1, maxLength: 200 }),
  text: Type.Optional(Type.String()),
  priority: Type.Optional(Type.Enum(["low", "high"])),
});
type Fields = Static<typeof Fields>;

const Ticket = Type.Object({ id: Type.String(), filedAt: Type.Integer(), ...Fields.properties });
type Ticket = Static<typeof Ticket>;

export const tickets = defineContract("tickets", {
  list: {
    summary: "List tickets, newest first",
    scope: "operator.read",
    params: Type.Object({}),
    result: Type.Object({ tickets: Type.Array(Ticket) }),
  },
});

const TABLE = "CREATE TABLE tickets (id TEXT PRIMARY KEY, filed_at BIGINT NOT NULL, ticket TEXT NOT NULL)";
const INSERT = "INSERT INTO tickets (id, filed_at, ticket) VALUES (?, ?, ?)";

/** Sent to every connection. */
export const filed = defineEvent({ name: "tickets.filed", summary: "A ticket was filed", payload: Ticket });

export default definePlugin({
  id: "tickets",
  api: "^1.0.0",
  requires: { storage: Storage },
  setup(gateway) {
    const { storage } = gateway.services;
    const announce = gateway.event(filed);

    gateway.start(() => storage.migrate("tickets", [TABLE]));
    gateway.serve(tickets, {
      list: async () => ({
        tickets: (await storage.all("SELECT ticket FROM tickets ORDER BY filed_at DESC")).map(read),
      }),
    });

    gateway.extend(WebhookAction, "ticket", {
      summary: "File a ticket",
      fields: Fields,
      // The sender receives 400 with this message. Nothing may be changed yet.
      prepare: (fields) =>
        matches(Fields, fields) ? { params: fields } : invalidRequest("a ticket needs a title of 1 to 200 characters"),
      // Part of the transaction that records the webhook: when the sender receives 200, the ticket is on disk exactly
      // once.
      commit(job) {
        const ticket = toTicket(job);
        return [{ sql: INSERT, params: [ticket.id, ticket.filedAt, JSON.stringify(ticket)] }];
      },
      committed: (job) => announce(toTicket(job)),
    });
  },
});

function toTicket({ runId, acceptedAt, params }: WebhookJob): Ticket {
  return { ...(params as Fields), id: runId, filedAt: acceptedAt }; // validated by `prepare`
}

function read({ ticket }: Row): Ticket {
  return JSON.parse(String(ticket)) as Ticket; // written by `commit`
}
