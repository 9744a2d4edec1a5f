/** Functions behind `Dialect` and `expectChanges`, and the tables of `EventStream` and `configKeeper`, as migration steps of this plugin. Append only. */
import type { Sql } from "@svc/sdk/storage";

export const OWNER = "storage-postgres";

/** JSON texts may have the escape of U+0000, which PostgreSQL cannot hold in a text; it becomes U+FFFD. */
const TEXTS: readonly string[] = [
  `create function svc_expect(changed bigint, expected bigint) returns boolean language plpgsql as $$
begin
  if changed <> expected then
    raise exception 'changed % rows instead of %', changed, expected using errcode = 'SV001';
  end if;
  return true;
end $$`,
  `create function svc_without_zero(value text) returns text language sql immutable strict as $$
  select regexp_replace(value, '(?<!\\\\)((?:\\\\\\\\)*)\\\\u0000', '\\1\\\\ufffd', 'g') $$`,
  `create function svc_is_json(value text) returns boolean language plpgsql immutable as $$
begin
  if value is null then return false; end if;
  perform value::json;
  return true;
exception when others then
  return false;
end $$`,
  `create function svc_jsonb(value text) returns jsonb language plpgsql immutable strict as $$
begin
  return value::jsonb;
exception when untranslatable_character then
  return svc_without_zero(value)::jsonb;
end $$`,
  `create function svc_json_text(value text, path text[]) returns text language plpgsql immutable strict as $$
begin
  return value::json #>> path;
exception when untranslatable_character then
  return svc_without_zero(value)::json #>> path;
end $$`,
  `create function svc_json_part(value text, path text[]) returns text language sql immutable strict as $$
  select (value::json #> path)::text $$`,
  `create function svc_json_merged(target jsonb, patch jsonb) returns jsonb language plpgsql immutable as $$
declare
  changed record;
begin
  if jsonb_typeof(patch) <> 'object' then return patch; end if;
  if target is null or jsonb_typeof(target) <> 'object' then target := '{}'; end if;
  for changed in select * from jsonb_each(patch) loop
    if jsonb_typeof(changed.value) = 'null' then target := target - changed.key;
    else target := target || jsonb_build_object(changed.key, svc_json_merged(target -> changed.key, changed.value));
    end if;
  end loop;
  return target;
end $$`,
  `create function svc_json_merge(target text, patch text) returns text language sql immutable strict as $$
  select svc_json_merged(svc_jsonb(target), svc_jsonb(patch))::text $$`,
  `create function svc_json_without(value text, keys text[]) returns text language sql immutable strict as $$
  select (svc_jsonb(value) - keys)::text $$`,
  `create function svc_json_with(value text, key text, number bigint) returns text language sql immutable strict as $$
  select (svc_jsonb(value) || jsonb_build_object(key, number))::text $$`,
  `create function svc_json_each(whole text, path text[]) returns table (value text, type text)
language plpgsql immutable strict as $$
declare
  part json;
begin
  begin
    part := whole::json #> path;
    perform part::jsonb;
  exception when untranslatable_character then
    part := svc_without_zero(whole)::json #> path;
  end;
  if part is null then return; end if;
  if json_typeof(part) <> 'array' then part := json_build_array(part); end if;
  return query select e #>> '{}', case json_typeof(e) when 'object' then 'object' else 'other' end
    from json_array_elements(part) as e;
end $$`,
  `create table svc_stream (name text not null, epoch bigint not null, n bigint not null, seq bigint not null);
  insert into svc_stream values (gen_random_uuid()::text, 1, 0, 0);
  create unlogged table svc_ring (n bigint primary key, epoch bigint not null, seq bigint, sender text not null,
    part bigint not null, at timestamptz not null default clock_timestamp(), text text not null, unique (sender, part));
  create unlogged table svc_ring_intact (epoch bigint primary key);
  insert into svc_ring_intact values (1)`,
  `create table svc_config (revision bigint not null, text text);
  insert into svc_config values (0, null)`,
];

export const STEPS: readonly Sql[] = TEXTS.map((text) => ({ sqlite: text, postgres: text })); // not to be translated
