/** One job through the stand-ins of four vendors, by the definitions that ship. Each vendor knows some people, and fills some fields. */
import { startApollo } from './stand-ins/apollo.ts';
import { startHunter } from './stand-ins/hunter.ts';
import { startPeopleDataLabs } from './stand-ins/people-data-labs.ts';
import type { StandIn, StandInOptions } from './stand-ins/stand-in.ts';
import type { StandInPerson } from './stand-ins/world.ts';
import { startZeroBounce } from './stand-ins/zerobounce.ts';

export type FourVendors = Readonly<Record<'people-data-labs' | 'apollo' | 'hunter' | 'zerobounce', StandIn>>;

/** The paths that each definition expects behind its address, and the price of a credit. */
const OF_VENDORS = {
  'people-data-labs': { path: '/v5', creditPrice: '0.20 EUR' },
  apollo: { path: '/api/v1', creditPrice: '0.10 EUR' },
  hunter: { path: '/v2', creditPrice: '0.05 EUR' },
  zerobounce: { path: '/v2', creditPrice: '0.01 EUR' },
} as const;

/** The first knows half of the people, the second half of the rest and no titles of some, the third most. */
const KNOWS: Readonly<Record<string, (person: StandInPerson, index: number) => boolean>> = {
  'people-data-labs': (_person, index) => index % 2 === 0,
  apollo: (_person, index) => index % 4 < 2,
  hunter: (_person, index) => index % 10 !== 3,
};
const FIELDS: NonNullable<StandInOptions['fields']> = (person, index) =>
  Object.keys(person).filter((name) => name !== 'title' || index % 8 !== 1);

/** Starts them without limits. @param options of each */
export async function startFourVendors(options: StandInOptions = {}): Promise<FourVendors> {
  const usual = { windows: [], ...options };
  const [people, apollo, hunter, zerobounce] = await Promise.all([
    startPeopleDataLabs({ ...usual, knows: KNOWS['people-data-labs'] ?? (() => true) }),
    startApollo({ ...usual, knows: KNOWS['apollo'] ?? (() => true), fields: FIELDS }),
    startHunter({ ...usual, knows: KNOWS['hunter'] ?? (() => true) }),
    startZeroBounce(usual),
  ]);
  return { 'people-data-labs': people, apollo, hunter, zerobounce };
}

/** The job, without its input and its output. @param concurrency of each provider */
export function fourVendorsJob(
  vendors: FourVendors,
  concurrency: number | 'auto' = 'auto',
): {
  readonly providers: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly steps: readonly Readonly<Record<string, unknown>>[];
} {
  const providers = Object.entries(OF_VENDORS).map(([name, { path, creditPrice }]) => [
    name,
    { baseUrl: `${vendors[name as keyof FourVendors].url}${path}`, windows: [], creditPrice, concurrency },
  ]);
  return {
    providers: Object.fromEntries(providers) as Readonly<Record<string, Readonly<Record<string, unknown>>>>,
    steps: [
      { enrich: { from: ['people-data-labs', 'apollo', 'hunter'], until: ['name', 'title'], fields: 'merge' } },
      { verify: { from: ['hunter', 'zerobounce'] } },
    ],
  };
}
