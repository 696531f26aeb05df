/** A file as a CRM writes it: two people, and a row that identifies nobody. */
export const CRM = `Full Name,Work Email,Company,Website,Job Title,Mobile
Ada Example,ada@acme.example,Acme,acme.example,CTO,+12125550100
Bob Sample,bob@acme.example,Acme,acme.example,Engineer,
Nobody,,,,,
`;
