/** Exports as CRMs and spreadsheets write them: the columns of the keys are found. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PERSON_COLUMNS } from '../../src/formats/header-aliases.ts';
import { freeze } from '../formats/helpers.ts';

const FOLDER = join(import.meta.dirname, '../../fixtures/formats/exports');

/** By file: the columns of e-mail, domain, profile, name, first name, last name, company and phone. */
const EXPECTED: Readonly<Record<string, readonly (string | null)[]>> = {
  'event-attendees.csv': [
    'Attendee: E-mail address',
    null,
    'Your LinkedIn profile?',
    'Attendee: Full name',
    null,
    null,
    'Company / Organisation',
    null,
  ],
  'excel-dutch.csv': ['E-mailadres (zakelijk)', 'Website bedrijf', null, null, 'Voornaam', 'Achternaam', 'Bedrijf', 'Mobiele telefoon'],
  'excel-french.csv': ['Mail pro', 'Site internet', null, null, 'Prénom', 'Nom', 'Société', 'Tél. portable'],
  'excel-german.csv': ['E-Mail (geschäftlich)', 'Internetseite (URL)', null, null, 'Vorname', 'Nachname', 'Firma', 'Telefon (mobil)'],
  'excel-italian.csv': ['Indirizzo e-mail', 'Sito web', null, null, 'Nome', 'Cognome', 'Azienda', 'Cellulare'],
  'excel-japanese.csv': ['メールアドレス', 'ホームページ', null, '氏名', null, null, '会社名', '携帯電話'],
  'excel-polish.csv': ['Adres e-mail (służbowy)', 'Strona WWW', null, null, 'Imię', 'Nazwisko', 'Firma', 'Telefon komórkowy'],
  'excel-portuguese.csv': [
    'Endereço de e-mail',
    'Site da empresa',
    null,
    null,
    'Primeiro nome',
    'Sobrenome',
    'Empresa',
    'Telefone celular',
  ],
  'excel-spanish.csv': ['Correo electrónico (trabajo)', 'Página web', null, null, 'Nombre', 'Apellidos', 'Empresa', 'Teléfono móvil'],
  'excel-unnamed.csv': ['Spalte2', 'Spalte3', null, null, null, null, null, 'Spalte4'],
  'google-contacts.csv': [
    'E-mail 1 - Value',
    'Website 1 - Value',
    null,
    null,
    'First Name',
    'Last Name',
    'Organization Name',
    'Phone 1 - Value',
  ],
  'hubspot-contacts.csv': ['Email', 'Email Domain', null, null, 'First Name', 'Last Name', 'Primary Company', 'Phone Number'],
  'hubspot-flattened.csv': [
    'properties.email',
    null,
    'properties.hs_linkedin_url',
    null,
    'properties.firstname',
    'properties.lastname',
    null,
    null,
  ],
  'outlook-german.csv': ['E-Mail-Adresse', 'Webseite', null, null, 'Vorname', 'Nachname', 'Firma', 'Mobiltelefon'],
  'pipedrive-people.csv': [
    'Person - Email - Work',
    'Organization - Website',
    null,
    'Person - Name',
    null,
    null,
    'Person - Organization',
    'Person - Phone - Mobile',
  ],
  'salesforce-custom.csv': ['EMAIL_ADDRESS__C', 'WEB_SITE__C', null, null, 'FIRST_NAME__C', 'LAST_NAME__C', null, null],
  'salesforce-leads.csv': [
    'Lead: Email',
    'Lead: Website',
    null,
    null,
    'Lead: First Name',
    'Lead: Last Name',
    'Lead: Company / Account',
    'Lead: Mobile',
  ],
};

it.each(await readdir(FOLDER))('%s has its key columns found', async (name) => {
  const { keyName } = await freeze(join(FOLDER, name), { personColumns: PERSON_COLUMNS });
  const { email, domain, linkedin_url: profile, name: full, first_name: first, last_name: last, company, phone } = keyName;
  expect([email, domain, profile, full, first, last, company, phone]).toEqual(EXPECTED[name]);
});
